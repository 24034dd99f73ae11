-- The dead-letter queue, where nothing expires: how jobs get there, how they are put back, and how they are deleted.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/timeline, extended/unique_keys, extended/moves
--- @requires extended/conversion, extended/own_url, limits/queue_settings, limits/queue_room
--- @exports die, respawn, delete_dead

-- A job dies: it goes to the dead-letter queue, where nothing expires.
function die(job, group, message, worker)
  conversion.make_extended(job, true)
  moves.release_holds(job, "died")
  job.expires, job.free_retries = --[[ guard: dead-jobs-do-not-expire ]] 0, 0
  jobs.put(job, "ended", now_floor)
  jobs.set_failure(job, group, message, worker)
  moves.go(job, DEAD, now_floor)
  timeline.log_event("died", job, { group = group, message = message, worker = worker })
end

-- The job starts again, in its queue or in another one: its failure is removed, also from the count of the group (extended/indexes). request: {ttl_ms, tries:
-- number, "reset" or "keep", queue, no_push, most_queues, most_jobs, operation}. Returns nil, or why it stays dead.
function respawn(job, request)
  local from, is_moved = registry.name_of(job.queue), request.queue and request.queue ~= registry.name_of(job.queue)
  if is_moved and --[[ guard: job-push-url-respawned ]] own_url.lacks_push(job, request) then
    return "verb_missing"
  end
  local no_room = is_moved and queue_room.refused_move(job, request.queue, request)
  if no_room then
    return no_room
  end
  -- guard: respawn-needs-the-unique-key
  if not unique_keys.retake_unique(job) then
    return "unique_key_taken"
  end
  local is_new = request.tries == "reset"
  local first_tries = conversion.total_tries(job)
  conversion.make_room_for_lease(job)
  moves.leave(job)
  -- guard: respawn-ends-old-leases
  jobs.raise_lease(job)
  job.free_retries, job.expires = 0, request.ttl_ms > 0 and now_ceil + request.ttl_ms or 0
  job.tries = math.max(tonumber(request.tries) or is_new and first_tries or job.tries, 1)
  -- guard: respawn-keep-tries-attempts
  job.attempts = is_new and 0 or job.attempts
  for _, field in ipairs(is_extended(job) and { --[[ guard: respawn-clears-failure ]] "fgroup", "fmessage", "fat", "fworker", "ended", "worker", "progress", "cancel", "due", "released", "no_handler" } or {}) do
    jobs.put(job, field, nil)
  end
  if is_extended(job) and is_new then
    jobs.put(job, "failures", nil)
    jobs.put(job, "crashes", nil)
  end
  if is_moved then
    queue_room.count_move(request.queue)
    job.queue = registry.number_of(request.queue)
    registry.queue_names[job.queue] = request.queue
    if is_extended(job) then
      conversion.make_queue_extended(job.queue, request.queue)
    end
  end
  if is_extended(job) and job.expires > 0 then
    add_member(namespace_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
  -- guard: respawn-begins-no-drain
  queue_settings.let_in(job.queue)
  moves.go(job, READY)
  local facts = is_moved and { queue = request.queue, from = from } or {}
  facts.operation = request.operation
  timeline.log_event("respawned", job, facts)
end

function delete_dead(job)
  moves.leave(job)
  moves.conclude(job, nil, "deleted")
end
