-- max_run_ms: how long a job may run, from the grant of its lease on, whatever its heartbeats.
--- @requires core/call, extended/jobs
--- @exports within_run, is_run_over

-- When the run ends, Unix ms; nil = it has no limit, or there was no lease. The stored time of the grant is rounded down.
local function run_end_of(job)
  local run_ms, leased = job.x.run, job.x.leased
  return run_ms and leased and tonumber(leased) + 1 + tonumber(run_ms)
end

-- When a lease ends that would end at this time.
function within_run(job, ends)
  return math.min(ends, run_end_of(job) or ends)
end

-- Whether the run of the last lease is over: its holder is refused, also if the timer of the lease is late.
function is_run_over(job)
  return (run_end_of(job) or math.huge) <= now_floor
end
