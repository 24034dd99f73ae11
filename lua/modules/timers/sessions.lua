-- Timer of worker sessions that sent no heartbeat for the duration of their leases.
--- @requires core/call, core/plan, extended/jobs, extended/timeline, queues/notify, queues/sessions, timers/steps
--- @exports lose_sessions

-- Each costs a step, also without an event.
function lose_sessions(_, what)
  local all_sessions = sessions.sessions_key()
  for _, worker in ipairs(steps.due_in(all_sessions, what)) do
    steps.timer_results.lost_sessions = steps.timer_results.lost_sessions + 1
    remove_member(all_sessions, worker)
    -- Its process has died, perhaps behind a proxy that keeps its requests open.
    local x = redis.call("HMGET", touch(session_key(worker)), "name", "jobs", "scope")
    plan.lasts[#plan.lasts + 1] = function()
      notify.notify_ended(worker, x[3])
    end
    timeline.emit_event("worker_lost", { id = "", x = {} }, sessions.session_facts(worker, x[1], { queue = "", jobs_at_hand = tonumber(x[2] or 0) }))
  end
end
