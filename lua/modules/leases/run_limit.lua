-- max_run_ms: how long a job may run in one lease, whatever its heartbeats. The run counts from the grant of the lease, or from its begin.
--- @requires core/call, extended/jobs, extended/settings
--- @exports limit_of, queue_limit_for, limit_lease, begin_run, end_run, run_end_of, within_run, is_run_over

-- What holds for the present lease alone is in one field: its number, the limit in ms, and 1 if its handler has begun. So no other lease needs to clear it.
local function of_lease(job)
  local lease, limit_ms, begun = string.match(job.x.lrun or "", "^(%d+) (%d+) (%d)$")
  if lease == --[[ guard: run-limit-of-one-lease ]] text_of(job.lease) then
    return tonumber(limit_ms), begun == "1"
  end
end

local function set_of_lease(job, limit_ms, begun)
  jobs.put(job, "lrun", text_of(job.lease) .. " " .. text_of(limit_ms) .. " " .. begun)
end

-- The limit of the present lease in ms, nil = none; and whether its handler has begun.
function limit_of(job)
  local limit_ms, has_begun = of_lease(job)
  return limit_ms or tonumber(job.x.run), has_begun
end

-- The limit that a job gets from its queue at its lease, because it has none of its own: it was published by lmstfy's API, or before the queue had one.
function queue_limit_for(job)
  return not job.x.run and (settings.settings_of(job.queue).defaults or {}).maxRunMs or nil
end

-- A lease was granted. queue_ms: as queue_limit_for has it. What the queue says later does not change this lease.
function limit_lease(job, queue_ms)
  if queue_ms then
    set_of_lease(job, queue_ms, "0")
  end
end

-- The run is over: its holder loses the lease. No worker has the number that follows, so the run stays over for that one, too.
function end_run(job)
  local limit_ms, has_begun = of_lease(job)
  -- guard: overrun-ends-the-lease-number
  jobs.raise_lease(job)
  if --[[ guard: number-after-a-run-is-refused ]] limit_ms then
    set_of_lease(job, limit_ms, has_begun and "1" or "0")
  end
end

-- When the run ends, Unix ms; nil = it has no limit, or there was no lease. The stored time of its start is rounded down.
function run_end_of(job)
  local limit_ms, leased = limit_of(job), job.x.leased
  return limit_ms and leased and tonumber(leased) + 1 + limit_ms
end

-- The handler begins: the run counts from now on, once in each lease. handler_ms: the limit of the handler, nil = none. The shorter limit counts. The job
-- must be an extended one, unless there is no limit at all.
function begin_run(job, handler_ms)
  local limit_ms, has_begun = limit_of(job)
  if --[[ guard: run-begins-once ]] not has_begun and (limit_ms or handler_ms) then
    set_of_lease(job, math.min(limit_ms or math.huge, handler_ms or math.huge), "1")
    jobs.put(job, "leased", now_floor)
  end
end

-- When a lease ends that would end at this time.
function within_run(job, ends)
  return math.min(ends, run_end_of(job) or ends)
end

-- Whether the run of the last lease is over: its holder is refused, also if the timer of the lease is late.
function is_run_over(job)
  return (run_end_of(job) or math.huge) <= now_floor
end
