-- Brings back a job that an operation has ended, from its record (operations/undo_records): with its id, data, options, state and place.
--- @requires core/call, core/header, core/plan, queues/registry, queues/publish_order, extended/jobs, extended/timeline, extended/unique_keys
--- @requires extended/moves, extended/conversion, extended/dependencies, limits/quota_room, limits/beside_bytes, limits/at_ready
--- @requires limits/queue_settings, jobs/dependency_list, extended/readers, extended/settings, limits/concurrency_keys, limits/slots
--- @exports start_restore, restore, bytes_restored, queues_used, hold_strict_orders

-- bytes_restored: of the records that this script has read. queues_used: numbers of the queues that got jobs.
bytes_restored, queues_used = 0, {}

-- quotas: as limits/call_quotas has them.
function start_restore(quotas)
  quota_room.start_quotas(quotas)
end

-- The worker of a leased job was requested to stop, and has not done so: the job goes on as if it had not been. It may be at its next step, which waits for
-- others.
local function withdraw_cancel(id, operation)
  local job = jobs.job_of(id)
  -- guard: undo-leaves-what-its-worker-ended
  if not job or job.is_gone or job.state ~= LEASED and --[[ guard: undo-finds-the-next-step ]] job.state ~= BLOCKED or job.x.undo ~= operation or not job.x.cancel then
    return "ended"
  end
  remove_member(namespace_key("timers"), "G" .. id)
  for _, field in ipairs({ "cancel", "cascade", "undo" }) do
    jobs.put(job, field, nil)
  end
  timeline.log_event("restored", job, { operation = operation })
end

-- Whether the job that has the id now is what the operation left of it: cancelled, and kept.
local function is_left_over(job, record)
  return job.state == CANCELLED and --[[ guard: undo-replaces-own-leftover ]] tonumber(job.x.ended) == record.ended
end

local CODES = { ["2"] = "too_many_queues", ["3"] = "queue_full", ["4"] = "namespace_full" }
local function lacks_room(job, record, left_over)
  local bytes = #record.value - HEADER_BYTES + beside_bytes(record.x)
  if left_over and left_over.flags >= COUNTED then
    bytes = bytes - jobs.body_bytes_of(left_over) - (left_over.x.beside or 0)
  end
  return CODES[job.state >= DONE and quota_room.room_for_growth(bytes) or quota_room.room_for_job(registry.number_of(record.queue), bytes)]
end

-- Whether the job that has the id now has expired, and is not removed yet: a publish would take its id, too (extended/new_jobs).
local function has_expired(job)
  return is_expired(job) and --[[ guard: undo-takes-the-id-of-an-expired-job ]] not job.x.users
end

-- Why a job cannot come back; nil = it can.
local function why_not(job, record, present, left_over)
  local holds_key = job.state < DONE and job.state ~= DEAD and record.x.unique and not record.x.uends
  local holder = holds_key and unique_keys.holder_of(record.x.unique)
  if present and not present.is_gone and not left_over and not has_expired(present) then
    return "id_in_use"
  elseif --[[ guard: undo-keeps-the-ttl ]] is_expired(job) then
    return "ttl_ended"
  elseif record.kept_until and tonumber(record.kept_until) <= now_floor then
    return "retention_ended"
  elseif --[[ guard: undo-takes-no-held-key ]] holder and holder.id ~= job.id then
    return "unique_key_taken"
  end
  return --[[ guard: undo-obeys-quotas ]] lacks_room(job, record, left_over)
end

-- What belongs to its former life, or is computed again.
local NOT_KEPT = { beside = true, edges = true, waits = true, cancel = true, cascade = true, undo = true, slot = true, hold = true }
local function put_fields(job, record)
  for field, value in pairs(record.x) do
    if not NOT_KEPT[field] then
      jobs.put(job, field, value)
    end
  end
end

-- A table as extended/jobs has it, of a job that is in no index yet.
local function make_job(job, record, number)
  job.key, job.extras_key, job.body, job.x, job.news = job_key(job.id), extras_key(job.id), string.sub(record.value, HEADER_BYTES + 1), {}, {}
  job.queue, registry.queue_names[number] = number, record.queue
  job.flags = job.flags % COUNTED + quota_room.counted_flag
  job.entry = --[[ guard: undo-far-job-has-no-old-entry ]] math.max(job.entry, 1) -- 0 is for far slots, where an entry of it may still be.
  jobs.known_jobs[job.id] = jobs.will_change(job)
  put_fields(job, record)
  if quota_room.counted_flag > 0 then
    write("HINCRBY", meta_key, "bytes", #job.body)
  end
  if is_extended(job) then
    conversion.make_queue_extended(number, record.queue)
  end
end

local function place_in_time(job)
  job.stand = publish_order.rank_of(job, job.priority, job.x.type)
  jobs.put(job, "aside", job.priority == 0 and "1" or nil)
end

-- To its ready list: an extended job at its place in time, a simple one to the front, where the next one that comes back goes before it.
local function go_ready(job, record)
  if record.at then
    job.stand = tonumber(record.at) - (job.priority + 0.5) * PLACES
    -- The list that it came from may be none any more, if its queue is in another order by now.
    -- guard: restored-job-stands-aside
    jobs.put(job, "aside", job.priority == 0 and "1" or nil)
  elseif is_extended(job) then
    place_in_time(job)
  else
    job.to_front = true
  end
  moves.go(job, READY)
  if record.x.since and job.state == READY then
    jobs.put(job, "since", record.x.since)
  end
end

-- A leased job lost its lease by the operation: it is ready again as after a revoke, with the try given back.
local function go_ready_after_lease(job, record)
  local lease = job.lease
  jobs.raise_lease(job)
  if is_extended(job) then
    jobs.put(job, "leased", nil)
    jobs.put(job, "revoked", text_of(lease))
  end
  if record.was_given_back then
    job.tries = math.max(job.tries, 1)
  else
    job.tries, job.attempts = math.min(job.tries + 1, 65535), math.max(job.attempts - 1, 0)
  end
  -- guard: undone-lease-is-held-first
  job.to_front, job.is_first = true, true
  moves.go(job, READY)
end

local function go_held(job)
  at_ready.join_held(job)
  job.tells_held = nil
  moves.go(job, HELD, publish_order.published_at(job))
end

-- Failed dependencies stay failed, unless they are there again.
local function keep_failed(job, failed)
  local open = {}
  for id, outcome in pairs(failed or {}) do
    local on = jobs.job_of(id)
    if on and not on.is_gone and on.state ~= CANCELLED then
      open[#open + 1] = id
      readers.note(job, id, "revived")
    else
      jobs.put(job, "waits", job.x.waits or "1")
      job.failed = dependencies.waiter(job).failed + 1
      dependencies.edge(job, "HSET", named_key("f", job.id), id, outcome)
    end
  end
  return open
end

-- It waits for those of its dependencies that have not ended by now.
local function go_blocked(job, record)
  local needs = keep_failed(job, record.failed)
  for _, id in ipairs(record.needs) do
    needs[#needs + 1] = id
  end
  if not dependencies.wait_for(job, needs) then
    local at = tonumber(job.x.due or 0)
    moves.go(job, at > now_floor and SCHEDULED or READY, at > now_floor and at or nil)
  end
end

local function go_kept(job, record)
  moves.go(job, job.state, tonumber(record.at))
  for _, reader in ipairs(record.readers or {}) do
    -- guard: restored-result-is-read
    write("SADD", named_key("r", job.id), reader)
  end
  add_member(namespace_key("keeping"), record.kept_until, job.id)
  set_timer("Z", tonumber(record.kept_until))
  set_timer("Z" .. job.queue, now_floor) -- The queue may have more than it keeps.
end

-- In a strict order, a job that waits or is dead keeps the slot of its key, for which those behind it wait.
local KEEPS_SLOT = { [SCHEDULED] = true, [BLOCKED] = true, [DEAD] = true }
local function go_back(job, record)
  local state = job.state
  if record.x.slot and KEEPS_SLOT[state] and settings.settings_of(job.queue).strict then
    -- guard: restored-job-keeps-its-slot
    job.slot_of = concurrency_keys.concurrency_key_of(job)
  end
  if state == LEASED or record.was_given_back then
    go_ready_after_lease(job, record)
  elseif state == BLOCKED then
    go_blocked(job, record)
  elseif state == SCHEDULED or state == DEAD then
    moves.go(job, state, tonumber(record.at))
  elseif state == HELD and job.x.ckey and job.x.place and not record.x.hold then
    go_held(job)
  elseif state == READY or state == HELD then
    record.at, job.is_first = state == READY and record.at, state == READY
    go_ready(job, record)
  else
    go_kept(job, record)
  end
end

local function expires_by_timer(job)
  return is_extended(job) and job.expires > 0 and job.state ~= DEAD and job.state < DONE
end

local function ids_of(fields)
  local ids = {}
  for id in pairs(fields or {}) do
    ids[#ids + 1] = id
  end
  return ids
end

-- The results of its dependencies that a job reads again: of those that had ended before it was ended, and are still kept. What was published later under such
-- an id ended later. At most so many: as many as a publish stores in one step.
local MOST_READ = 40
local function rejoin_readers(job, ended)
  local list, at = job.x.deps or "", 1
  for _ = 1, MOST_READ do
    if at > #list then
      return
    end
    local id, letter, next_at = dependency_list.entry_at(list, at)
    local on = letter == dependency_list.LETTERS.acked and jobs.job_of(id)
    -- guard: restored-job-reads-its-own-dependencies
    if on and not on.is_gone and on.state == DONE and tonumber(on.x.ended or math.huge) <= ended then
      jobs.put(on, "users", "1")
      write("SADD", named_key("r", id), job.id)
    end
    at = next_at
  end
end

-- Whether one of the jobs that were told of the end of this one does not come back. ids: of these; in records of the version before: true.
local function has_told_others(ids, waits_for)
  if type(ids) == "table" then
    return #waits_for(ids) < #ids
  end
  return ids
end

-- Jobs that were put behind their failed dependencies. One of these may have been published again under its id, and need the job by now: so only once.
local put_off = {}

-- text: the record. waits_for: returns which of some dependencies are still to come back, and true if one of them could not. Returns why the job does not come
-- back; or nil, and what of it does not. If it must wait: "later", and for which jobs.
function restore(id, text, operation, waits_for)
  local record = cmsgpack.unpack(text)
  bytes_restored = bytes_restored + #text
  if record.lease then
    return withdraw_cancel(id, operation)
  end
  local present = jobs.job_of(id)
  local left_over = present and not present.is_gone and is_left_over(present, record) and present or nil
  -- guard: undo-after-dependents-are-told
  if redis.call("HEXISTS", touch(namespace_key("ended")), id) == 1 then
    return "later", {}
  end
  local open, is_lost = waits_for(record.needs or {})
  local failed = waits_for(ids_of(record.failed))
  if --[[ guard: undo-after-dependencies ]] #open > 0 then
    return "later", open
  elseif --[[ guard: undo-after-failed-dependencies ]] #failed > 0 and not put_off[id] then
    put_off[id] = true
    return "later", failed
  elseif --[[ guard: undo-keeps-lost-dependencies-lost ]] is_lost then
    return "dependency_missing"
  end
  local job = unpack_job(record.value)
  job.id = id
  local why = why_not(job, record, present, left_over)
  if why then
    return why
  end
  if left_over then
    moves.leave(left_over)
    moves.vanish_kept(left_over)
  elseif present and not present.is_gone then
    moves.leave(present)
    moves.conclude(present, nil, "expired", timeline.worker_facts(present))
  end
  local was, number = job.state, registry.number_of(record.queue)
  -- guard: undo-begins-no-drain
  queue_settings.let_in(number)
  queues_used[number] = true
  make_job(job, record, number)
  if job.x.unique and was < DONE and was ~= DEAD then
    unique_keys.retake_unique(job)
  end
  timeline.log_event("restored", job, { operation = operation })
  go_back(job, record)
  rejoin_readers(job, record.ended)
  if not job.is_gone and expires_by_timer(job) then
    add_member(namespace_key("expiring"), text_of(job.expires), id)
    set_timer("E", job.expires)
  end
  return nil, { lease = was == LEASED or record.was_given_back, dependents = has_told_others(record.tells_others, waits_for), events = record.is_told }
end

-- Before commit. In a strict order no held job goes on before all are back: an earlier one of its key may still come. So the timer of its queue looks at held
-- jobs later, also if another server goes on with the undo. is_over: all are back.
local CALL_AFTER_MS = 6000
function hold_strict_orders(is_over)
  local timers = namespace_key("timers")
  for number in pairs(queues_used) do
    if --[[ guard: undo-keeps-a-strict-order ]] settings.settings_of(number).strict then
      for name, key in pairs(slots.freed_keys) do
        slots.freed_keys[name] = key.number ~= number and key or nil
      end
      free("HDEL", queue_key("o", number), "last_held")
      remove_member(timers, "K" .. number)
      set_timer("K" .. number, is_over and now_floor or now_floor + CALL_AFTER_MS)
    end
  end
end
