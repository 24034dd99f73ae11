-- Option `next` of ack: the same job continues in another queue.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/dependencies, extended/readers
--- @requires extended/dependency_cycles, jobs/dependency_list, limits/queue_room
--- @exports next_needs, move_on

-- What the job depends on next, and what dependency_cycles.why_not returns. list: ids as ids_in reads them. queue: the next one.
function next_needs(job, list, queue)
  local needs = dependencies.ids_in(list)
  return needs, dependency_cycles.why_not(job, needs, nil, queue)
end

function move_on(job, next, needs, facts)
  conversion.make_extended(job, true)
  local from, worker = registry.name_of(job.queue), job.x.worker
  jobs.raise_lease(job)
  queue_room.count_move(next.queue)
  job.queue, job.tries, job.attempts = --[[ guard: moved-job-is-in-its-next-queue ]] registry.number_of(next.queue), tonumber(job.x.tries), 0
  registry.queue_names[job.queue] = next.queue
  conversion.make_queue_extended(job.queue, next.queue)
  for _, field in ipairs({ "leased", "worker", --[[ guard: move-on-clears-failure ]] "fgroup", "fmessage", "fat", "fworker", "progress", "released", "no_handler" }) do
    jobs.put(job, field, nil)
  end
  readers.let_go(job, true)
  jobs.put(job, "deps", #needs > 0 and --[[ guard: next-dependencies-in-list ]] dependency_list.open_list(needs) or nil)
  jobs.put(job, "results_of", next.results_of)
  -- guard: next-step-counts-its-own-dependencies
  jobs.put(job, "edges", nil)
  local at = next.delay_ms and next.delay_ms > 0 and now_ceil + next.delay_ms
  jobs.put(job, "due", at or nil)
  timeline.log_event("moved", job, { queue = next.queue, from = from, worker = worker })
  if dependencies.wait_for(job, needs) then
    return 1, 0, facts
  end
  moves.go(job, at and SCHEDULED or READY, at)
  return 1, at, facts
end
