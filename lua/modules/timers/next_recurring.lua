-- The next job of a recurring job: its id, and how it is stored.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/new_jobs, extended/unique_claims, extended/unique_keys
--- @requires extended/dependencies, limits/quota_room, limits/queue_settings, timers/steps
--- @exports spawn_next

-- A number that no caller can know ahead: it is made from the microseconds of the clock.
local function chance_of(id)
  local time = redis.call("TIME")
  return tonumber(string.sub(redis.sha1hex(id .. time[1] .. "." .. time[2]), 1, 12), 16)
end

-- The id of the next job, as src/engine/core/ids.ts stores ids, and its number. Jobs with such an id may exist, of an earlier recurring job with this id or
-- of a caller who chose it: numbers are skipped in growing steps. After the first steps they are random: a caller cannot take them all ahead.
local FIXED_STEPS = 5
local function free_child(id, n)
  for step = 0, 40 do
    n = n + 2 ^ step + (--[[ guard: child-ids-by-chance ]] step > FIXED_STEPS and chance_of(id) % 2 ^ step or 0)
    local text = id .. "-" .. text_of(n)
    local child = string.rep("\0", #text == 15 and 2 or 1) .. text
    local present = jobs.job_of(child)
    -- guard: earlier-children-keep-their-ids
    if not new_jobs.is_taken(child, present) and not (present and present.is_gone) then
      return child, n
    end
  end
end

-- The room of the job whose place the next one takes: it is there while its room is looked for, and claim_key gives it back for good. sign: 1 or -1.
local function lend_room(options, sign)
  local holder = options.unique and options.unique.mode == "replace" and unique_keys.holder_of(options.x.unique)
  local old = holder and holder.job
  if old then
    local bytes = old.flags >= COUNTED and jobs.body_bytes_of(old) + (old.x.beside or 0) or 0
    -- guard: recurring-replaces-in-full-queue
    quota_room.add_room(old.queue, sign, sign * bytes)
  end
end

-- A job of a recurring job, published at the time of its slot. Returns nil; or why not, if a quota, its unique key or a dependency forbids it: then nothing is planned.
local function spawn(id, child, recurring, options, slot)
  if not quota_room.has_room_for_queue(options.queue) then
    return "quota"
  end
  if dependencies.missing_of(options.needs) ~= "" and --[[ guard: missing-dependency-skips-slot ]] options.refuse_missing then
    return "missing_dependency"
  end
  -- Before it takes room, plans a queue or counts a key.
  if not --[[ guard: refused-slot-takes-no-room ]] unique_claims.may_take_key(options) then
    if options.unique.mode == "debounce" then
      new_jobs.use_defaults(options)
      unique_claims.claim_key(options, child, recurring.body)
    end
    return recurring.has_overlap and "overlap" or "unique_key"
  end
  new_jobs.use_defaults(options)
  local bytes = #recurring.body + quota_room.new_beside_bytes(options)
  lend_room(options, 1)
  local has_room = quota_room.has_room_for_keys(options) and quota_room.room_for_job(registry.number_of(options.queue), bytes) == "0"
  lend_room(options, -1)
  if not has_room then
    return "quota"
  end
  unique_claims.claim_key(options, child, recurring.body)
  quota_room.room_for_keys(options)
  -- guard: recurring-begins-no-drain
  queue_settings.let_in(registry.number_of(options.queue))
  local job = new_jobs.new_job(options, child, recurring.body, jobs.job_of(child))
  jobs.put(job, "spawned", id)
  new_jobs.place_new(job, options)
  jobs.put(job, "put", text_of(slot))
  jobs.put(job, "due", text_of(slot))
  local made = steps.timer_results.made
  made[options.queue] = (made[options.queue] or 0) + 1
end

-- What earlier servers stored gets the key that no caller can take: the options of the jobs to come, which those servers read too, and a job that lives.
local function take_own_key(id, recurring)
  local former, own = unique_keys.FORMER_KEY .. id, unique_keys.OWN_KEY .. id
  local from, to = string.find(recurring.options, '"unique":"' .. former .. '"', 1, true)
  if from then
    local key = '"unique":"\\u0001' .. former .. '"'
    recurring.options = string.sub(recurring.options, 1, from - 1) .. key .. string.sub(recurring.options, to + 1)
    write("HSET", named_key("R", id), "options", recurring.options)
  end
  local holder = unique_keys.holder_of(former)
  if holder and holder.job and --[[ guard: callers-key-stays ]] holder.job.x.spawned == id then
    unique_keys.rename_unique(holder.job, own)
  end
end

-- Makes the next job of a recurring job. Returns its id, or nil and why there is none.
function spawn_next(id, recurring, slot)
  local child, n = free_child(id, recurring.made)
  if not child then
    return nil, "quota"
  end
  if recurring.has_overlap then
    -- guard: recurring-own-key
    take_own_key(id, recurring)
  end
  local options = cjson.decode(recurring.options)
  -- Stored options have no id, and look minted. A job with this id may have been there before.
  -- guard: slot-lease-from-clock
  options.minted = nil
  options.needs = dependencies.ids_in(recurring.needs)
  local reason = spawn(id, child, recurring, options, slot)
  if reason then
    return nil, reason
  end
  recurring.made, recurring.taken = n, recurring.taken + n - recurring.made - 1
  return child
end
