-- Jobs that a limit of their concurrency key held: made ready at the front of their ready list, in the order in which they were held.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, extended/timeline, extended/moves, limits/rates
--- @requires limits/concurrency_keys, limits/slots
--- @exports call_all_held

local calls_left = 24 -- for one script, which has more to do
local function first_held(key, count, first)
  for _, id in ipairs(count > 0 and redis.call("ZRANGE", key.held_key, 0, count + 31) or {}) do
    local job = jobs.job_of(id)
    if job and job.state == HELD and not job.is_gone and #first < count then
      first[#first + 1] = job
    elseif not job or job.state ~= HELD and not job.is_changed then
      remove_member(key.held_key, id)
      key.held = key.held - 1
    end
  end
  return first
end

local function call_held(key)
  local first = first_held(key, math.min(concurrency_keys.room_of(key), key.held, calls_left), {})
  for i = #first, 1, -1 do -- The first goes to the front last.
    local job = first[i]
    moves.leave(job)
    -- guard: called-job-has-slot
    concurrency_keys.take_slot(job, 1)
    job.to_front, calls_left = true, calls_left - 1
    moves.go(job, READY)
    timeline.log_event("ready", job)
  end
  local set, what = settings.settings_of(key.number), "K" .. key.name
  if key.held > 0 and concurrency_keys.room_of(key) > 0 then
    set_timer(what, now_floor)
  elseif key.held > 0 and set.krate and key.taken < (set.kmax or math.huge) and key.called < set.krate.burst then
    set_timer(what, rates.allowed_at(set.krate, key.tat, key.called + 1))
  end
end

function call_all_held()
  for _, key in pairs(slots.freed_keys) do
    call_held(key)
  end
end
