-- Jobs that a limit of their concurrency key holds: made ready when the key has room, by priority, then in the order in which they were held. Among the jobs
-- that are ready they get the place of their publish: so a key with many held jobs delays no job that was published before them.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, extended/timeline, extended/moves, limits/rates
--- @requires limits/concurrency_keys, limits/slots, queues/ranks, queues/publish_order
--- @exports call_all_held

local calls_left = 24 -- for one script, which has more to do

local function is_held(job)
  return job and job.state == HELD and not job.x.hold and not job.is_gone
end

local function is_before(one, other)
  local a, b = tonumber(one.x.place), tonumber(other.x.place)
  return a < b or a == b and ranks.is_behind(other.id, one.id)
end

-- Jobs that the store has as held, up to `count`; added to a list.
local function add_stored(key, count, first)
  for _, id in ipairs(redis.call("ZRANGE", key.held_key, 0, count + 31)) do
    local job = jobs.job_of(id)
    if is_held(job) then
      first[#first + 1], count = job, count - 1
    elseif not job or job.state ~= HELD and not job.is_changed then
      remove_member(key.held_key, id)
      key.held = key.held - 1
    end
    if count <= 0 then
      return
    end
  end
end

-- The first held jobs of a key, at most so many: of the store, and of those that this script holds.
local function first_held(key, count)
  local found, first, seen = {}, {}, {}
  if count > 0 then
    add_stored(key, count, found)
    for _, job in ipairs(key.newly) do
      found[#found + 1] = is_held(job) and job or nil
    end
    table.sort(found, is_before)
  end
  for _, job in ipairs(found) do
    if not seen[job] and #first < count then
      seen[job], first[#first + 1] = true, job
    end
  end
  return first
end

local function call(job)
  local is_first = publish_order.is_first_in_list(job)
  moves.leave(job)
  -- guard: called-job-has-slot
  concurrency_keys.take_slot(job, concurrency_keys.READY_SLOT)
  moves.stay_stalled(job)
  calls_left = calls_left - 1
  if --[[ guard: called-job-comes-in-its-order ]] not is_first then
    job.stand = publish_order.rank_of(job, job.priority, job.x.type)
    jobs.put(job, "aside", job.priority == 0 and "1" or nil)
  end
  job.to_front = not job.stand
  moves.set_ready(job)
end

-- The least urgent job of a key that is ready with a slot, as far as it is looked for; of equal ones the last.
local MOST_SEEN = 32
local function least_urgent(key)
  local least
  local function compare(job)
    if job and job.state == READY and job.x.slot and not job.is_gone and (not least or job.priority >= least.priority) then
      least = job
    end
  end
  for _, id in ipairs(redis.call("ZRANGEBYSCORE", key.slots, 1, 1, "LIMIT", 0, MOST_SEEN)) do
    compare(jobs.job_of(id))
  end
  for _, job in ipairs(key.entered) do
    compare(job)
  end
  return least
end

-- The most urgent job that this script holds; of all held ones if a job of the key has another priority by now.
local function most_urgent(key)
  local first
  for _, job in ipairs(key.is_reordered and first_held(key, 1) or key.newly) do
    if is_held(job) and (not first or is_before(job, first)) then
      first = job
    end
  end
  return first
end

-- An urgent job does not wait until a less urgent one of its key, which no worker has taken, has ended.
local function call_urgent(key)
  local held = key.called > 0 and key.held > 0 and calls_left > 0 and most_urgent(key)
  local ready = held and least_urgent(key)
  if ready and --[[ guard: urgent-takes-ready-slot ]] held.priority < ready.priority then
    moves.hold_again(ready)
    call(held)
    call_urgent(key)
  end
end

local function call_held(key)
  local first = first_held(key, math.min(concurrency_keys.room_of(key), key.held, calls_left))
  for i = #first, 1, -1 do -- The first goes to the front last.
    call(first[i])
  end
  if not settings.settings_of(key.number).strict then
    call_urgent(key)
  end
  for _, job in ipairs(key.newly) do
    if job.tells_held and is_held(job) then
      job.tells_held = nil
      timeline.log_event("held", job)
    end
  end
  local set, what = settings.settings_of(key.number), "K" .. key.name
  if key.held > 0 and concurrency_keys.room_of(key) > 0 then
    set_timer(what, now_floor)
  elseif key.held > 0 and set.krate and --[[ guard: paused-key-has-no-rate-timer ]] not concurrency_keys.is_paused(key) and key.taken < (set.kmax or math.huge) and key.called < set.krate.burst then
    set_timer(what, rates.allowed_at(set.krate, key.tat, key.called + 1))
  end
end

-- Before the script writes; and before it answers, if its answer has the states of jobs.
function call_all_held()
  for name, key in pairs(slots.freed_keys) do
    call_held(key)
    slots.freed_keys[name] = nil
  end
end
