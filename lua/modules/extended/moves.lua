-- Moves of jobs from one index to another, and their ends. leave and go plan a move, commit writes it. A job that ends is kept for its retention or vanishes,
-- and what others wait for is freed; its dependents are handled by a timer.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/indexes, extended/timeline, extended/unique_keys, limits/slots
--- @requires queues/registry, queues/publish_order, queues/type_keys, queues/type_lists, queues/fair_lists
--- @requires limits/at_ready, limits/retention, operations/undo_records, extended/readers
--- @exports leave, go, set_ready, return_job, stay_stalled, hold_again, release_holds, vanish, vanish_kept, conclude, revoke, remove

-- A timer runs soon for the jobs that depend on this one (timers/dependents). outcome: the event of its end, "cascaded" = cancel them too,
-- "revived" = the job was put back.
local function notify_dependents(job, outcome)
  -- guard: dependents-notified
  if outcome and job.x.users then
    write("HSET", namespace_key("ended"), job.id, outcome)
    set_timer("U" .. job.id, now_floor)
  end
end

-- Takes a job out of its index. is_taken: from the head of its ready list, where its entry goes with all that is trimmed.
function leave(job)
  jobs.will_change(job)
  slots.left(job)
  local kind, stood_aside = indexes.kind_of(job), job.x.aside
  -- guard: front-once
  job.to_front = nil
  -- guard: moved-not-to-front
  jobs.put(job, "front", nil)
  -- guard: left-place-not-aside
  jobs.put(job, "aside", nil)
  -- guard: left-place-not-rank
  job.stand = nil
  -- guard: ready-here-no-stale-entry
  if job.state == READY and job.is_entering then
    return -- This script made it ready: it is in no index yet.
  elseif job.state == READY and job.entry == type_keys.LISTED then
    if not fair_lists.leave_fair_list(job) then
      type_lists.leave_type_list(job)
    end
  elseif job.state == READY and (job.priority ~= 0 or stood_aside) then
    remove_member(queue_key("p", job.queue), job.id)
  elseif job.state == READY and not job.is_taken then
    write_early("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  elseif job.state == SCHEDULED and --[[ guard: scheduled-here-not-far ]] not is_planned(queue_key(kind, job.queue), job.id) and not redis.call("ZSCORE", queue_key(kind, job.queue), job.id) then
    write_early("HINCRBY", queue_key("i", job.queue), "far", -1) -- Its entry in the list of a far slot means nothing from now on.
    job.entry = 1
  elseif kind then
    remove_member(queue_key(kind, job.queue), job.id)
    notify_dependents(job, job.state == DEAD and --[[ guard: respawned-blocks-again ]] "revived")
  end
end

-- The timer of an index: a name for each kind and queue.
local timer_names = { S = {}, L = {} }
local function timer_of(kind, number)
  local names = timer_names[kind]
  local name = names[number] or kind .. number
  names[number] = name
  return name
end

-- To the index of a state, with its score: when it is due, when its lease ends, or since when it is there. A job whose concurrency key has no slot is held
-- instead of becoming ready.
function go(job, state, at)
  -- guard: cancelled-never-waits
  if job.x.cancel and (state == READY or state == SCHEDULED) then
    return revoke(job, true)
  end
  if --[[ guard: strict-order-keeps-the-slot ]] job.slot_of then
    slots.keep_slot(job, state)
  end
  if state == SCHEDULED and job.expires > 0 and not is_extended(job) then -- No other timer handles a simple job that expires sooner.
    at = math.min(at, job.expires)
  elseif state == READY and job.x.ckey and not at_ready.takes_slot(job) then
    at_ready.join_held(job, job.is_first)
    state, at = HELD, publish_order.published_at(job) -- lists are in this order
  end
  jobs.will_change(job).state, job.at, job.is_entering = state, at, state == READY
  if state ~= READY and job.entry == type_keys.LISTED then
    job.entry = --[[ guard: unlisted-job-is-in-no-far-slot ]] 1 -- With 0 a scheduled job would be live in the list of a far slot.
  end
  if state == READY then
    job.is_by_type = not fair_lists.enters_fair_list(job) and is_extended(job) and registry.is_by_type(job.queue)
    if job.is_by_type then
      type_lists.touch_lists(job)
    elseif not job.is_fair then
      touch(queue_key("r", job.queue))
      if job.to_front and job.priority == 0 then
        publish_order.note_front(job)
      end
    end
    if is_extended(job) then
      jobs.put(job, "since", now_floor)
    end
    if job.is_fair or job.is_by_type then
      jobs.put(job, "aside", nil)
    end
    return
  end
  if state == LEASED then
    slots.runs(job)
  end
  local kind = indexes.kind_of(job)
  add_member(queue_key(kind, job.queue), text_of(at), job.id)
  if kind == "S" or kind == "L" then
    set_timer(timer_of(kind, job.queue), at)
  elseif kind ~= "d" and not is_extended(job) then
    add_earliest(plan.due, at, job.queue)
  end
end

function set_ready(job)
  go(job, READY)
  if job.state == READY then
    timeline.log_event("ready", job)
  end
end

-- Ends a lease: the job waits again, at once or from a time on, which the event `what` tells. If its cancel was requested, it is cancelled instead.
function return_job(job, at, what, facts)
  go(job, at and SCHEDULED or READY, at)
  if --[[ guard: cancelled-is-not-given-back ]] job.state ~= CANCELLED then
    timeline.log_event(what, job, facts)
  end
end

-- Of a job that waits in another place from now on: a stalled one stays with its worker, but not one that this script takes from it.
function stay_stalled(job)
  job.is_stalled = job.is_stalled or --[[ guard: job-given-back-leaves-its-worker ]] not (job.was and job.was.state == LEASED)
end

-- Holds a job that was ready, before all others of its key and its priority.
function hold_again(job)
  leave(job)
  stay_stalled(job)
  at_ready.join_held(job, true)
  go(job, HELD, publish_order.published_at(job))
end

local FIELDS_OF_HOLDS = { "place", "waits", "edges", "cancel", "cascade", "undo" }
-- Frees what others wait for. outcome: the event of the end. Before, leave has taken the job out of its index.
function release_holds(job, outcome)
  -- guard: ended-frees-unique-key
  unique_keys.free_unique(job)
  notify_dependents(job, job.x.cascade and outcome == "cancelled" and "cascaded" or outcome)
  if job.x.waits then
    delete_key(needs_key(job.id))
    delete_key(named_key("f", job.id))
    delete_key(named_key("m", job.id))
  end
  for _, field in ipairs(FIELDS_OF_HOLDS) do
    if job.x[field] then
      jobs.put(job, field, nil)
    end
  end
  if is_extended(job) and job.expires > 0 then
    remove_member(namespace_key("expiring"), job.id)
  end
end

function vanish(job)
  jobs.will_change(job).is_gone = true
  delete_key(job.key)
  if job.flags % 2 == HAS_EXTRAS then
    delete_key(job.extras_key)
  end
  if is_extended(job) then
    delete_key(needs_key(job.id))
  end
  if job.x.users then
    delete_key(named_key("r", job.id))
  end
  if job.x.deps then
    readers.let_go(job, true)
  end
  if job.flags >= COUNTED then
    write_early("HINCRBY", meta_key, "bytes", 0 - jobs.body_bytes_of(job) - (job.x.beside or 0)) -- Not by a minus sign: Redis rejects "-0".
  end
end

-- A job that is kept after its end. Its dependents were handled when it ended.
function vanish_kept(job)
  remove_member(namespace_key("keeping"), job.id)
  vanish(job)
end

-- Done, cancelled or expired: kept for its retention, or removed.
function conclude(job, state, outcome, facts)
  job.outcome = outcome
  local keep_ms = state and tonumber(job.x.keep or 0) or 0
  release_holds(job, outcome)
  if keep_ms > 0 or state == DONE and job.x.users and --[[ guard: done-job-kept-for-dependents ]] readers.is_needed(job, true) then
    job.expires = 0
    jobs.put(job, "ended", now_floor)
    go(job, state, --[[ guard: cancelled-is-not-done ]] state == CANCELLED and -now_floor or now_floor) -- Below zero: both kinds are counted apart, by score.
    timeline.log_event(outcome, job, facts)
    retention.keep(job, keep_ms)
    readers.let_go(job, false)
  else
    vanish(job)
    timeline.emit_event(outcome, job, facts)
  end
end

-- Cancels a leased job: the lease is lost. The job is kept for a while, so that its worker learns of it. is_given_back: its worker, or its time, had ended
-- the lease before.
local REVOKED_KEEP_MS = 60000
function revoke(job, is_given_back)
  if job.x.undo then
    undo_records.add_revoked(job, is_given_back)
  end
  jobs.raise_lease(job)
  jobs.put(job, "keep", text_of(math.max(tonumber(job.x.keep or 0), REVOKED_KEEP_MS)))
  conclude(job, CANCELLED, "cancelled", { worker = job.x.worker })
end

-- Removes a job in any state before its work is done; its dependents see a failed dependency.
function remove(job)
  leave(job)
  -- guard: purged-dead-job-notifies
  if job.state >= DONE then
    job.outcome = "deleted"
    vanish_kept(job)
    timeline.emit_event("deleted", job)
  else
    conclude(job, nil, "deleted", timeline.worker_facts(job))
  end
end
