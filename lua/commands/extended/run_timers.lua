--[[
Run the timers of the extended path that are due, in up to limit steps. The name of a timer is a letter, and what it is for: S and L with a queue's
number, scheduled jobs and leases; E, jobs that expire; Z, retention; R and C, recurring jobs by interval and by cron; P and K, limits; B, jobs that
are held for an origin; W and T, workers and tracked jobs; H, worker sessions that are lost; O, operations; V, what they keep to be undone; Y, queues that become fair, or are fair
no more; with an id, U, dependents of a job that ended, N, dependencies that are still to be stored, and G, the end of cancel_grace_ms.

KEYS meta, queues, due, waiting, expiries, sending
ARGV clock_ms, deadline_ms, limit, quotas, checks_rights
limit: integer       jobs to look at, at most
quotas: text         as in extended/publish; recurring jobs must keep to them
checks_rights: text  "1": this process can check the rights of those who start operations; another one leaves theirs, whose timer stays due

Returns {status, now_ms, next_ms, due, returned, died, expired, earliest_ms, N, R, L, O, left, F, (queue, jobs made) × N, id × R, operation × O,
number × F, (queue, returned, died) × M}.
Next_ms: when to call again, 0 = nothing to wait for, in the past = at once. Earliest_ms: the oldest time that was served, 0 = none. Id: a recurring
job that needs more slots (extended/set_slots). L: worker sessions that were lost. Operation: one that this server takes over (extended/step_operation).
Left: operations that were left to others. Number: of a queue whose jobs this server moves (extended/order_fairly).
Cost: O(limit log N).
]]

--- @requires core/call, core/plan, queues/notify, queues/registry, jobs/deliveries, limits/quota_room, extended/jobs, extended/unique_claims
--- @requires extended/commit, timers/steps, timers/job_timers, timers/dependents, timers/limits, timers/retention, timers/recurring, timers/sessions, timers/push_origins, timers/operations

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)
if not registry.read_last_queue() then
  return { 2, now_floor }
end
quota_room.start_quotas(quotas)
steps.start_timers(limit)
job_timers.watch_deliveries(sending)

-- By the letter of the timer.
local handlers = {
  S = job_timers.make_due, L = job_timers.time_out_leases, E = job_timers.expire_jobs, G = job_timers.end_grace, Z = retention.forget_kept, W = retention.forget_workers, T = retention.forget_traces,
  P = limits.start_by_rate, K = limits.call_by_key, B = push_origins.call_for_origin, U = dependents.release_dependents, N = dependents.go_on_tying, R = recurring.make_recurring, C = recurring.make_by_cron,
  Y = steps.leave_to_server, H = sessions.lose_sessions, V = operations.drop_undo_records, O = function(_, what)
    operations.take_over_operations(what, checks_rights == "1")
  end,
}

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries, sending, steps.timers_key)
local earliest = 0
local found = redis.call("ZRANGEBYSCORE", steps.timers_key, "-inf", now_floor, "WITHSCORES", "LIMIT", 0, 32)
for i = 1, #found, 2 do
  if steps.steps_left > 0 then
    local what = found[i]
    local handle = handlers[string.sub(what, 1, 1)]
    earliest = i == 1 and tonumber(found[2]) or earliest
    if handle then
      handle(string.sub(what, 2), what)
    else -- A timer of a newer version, which will handle it.
      write("ZADD", steps.timers_key, text_of(now_floor + 60000), what)
    end
  end
end

-- Write.
dependents.place_waiters()
table.insert(plan.early, registry.write_new_queues)
unique_claims.place_debounced()
-- Jobs that died because a dependency failed count as failures of their queues.
for _, job in ipairs(jobs.changed) do
  -- guard: statistics-dependency-death
  if job.has_failed_by_dependency then
    deliveries.count_expired_lease("died", registry.name_of(job.queue))
  end
end
commit(expiries)
local next_ms = redis.call("ZRANGE", steps.timers_key, 0, 0, "WITHSCORES")[2]
if next_ms then
  redis.call("ZADD", due, next_ms, EXTENDED_TIMERS)
else
  redis.call("ZREM", due, EXTENDED_TIMERS)
end
local results = steps.timer_results
local reply = {
  0, now_floor, tonumber(next_ms or 0), results.due, results.returned, results.died, results.expired, earliest, 0, #results.wanted_slots,
  results.lost_sessions, #results.operations, results.left, #results.fair_queues,
}
for name, jobs_made in pairs(results.made) do
  reply[9], reply[#reply + 1], reply[#reply + 2] = reply[9] + 1, name, jobs_made
end
for _, id in ipairs(results.wanted_slots) do
  reply[#reply + 1] = id
end
for _, id in ipairs(results.operations) do
  reply[#reply + 1] = id
end
for _, number in ipairs(results.fair_queues) do
  reply[#reply + 1] = tonumber(number)
end
return deliveries.with_expired_leases(reply)
