-- Timers of dependents: a dependency of a job ended, or a job has more dependencies than one script handles.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/timeline, extended/moves, extended/dependencies, extended/readers, timers/steps
--- @exports release_dependents, go_on_tying, place_waiters

-- A job without open dependencies: to its ready list, or scheduled.
local function set_free(job)
  local at = tonumber(job.x.due or 0)
  -- guard: delay-outlives-dependencies
  if at > now_floor then
    moves.go(job, SCHEDULED, at)
    timeline.log_event("scheduled", job, { due = at })
  else
    moves.set_ready(job)
  end
end

-- A dependency of a job ended: it is met or failed. A job that was published again under its old id may not have this dependency.
local function dependency_ended(job, on, outcome)
  local was_unmet = redis.call("SISMEMBER", touch(needs_key(job.id)), on) == 1
  -- guard: end-of-earlier-job-ignored
  if not was_unmet and redis.call("HEXISTS", touch(named_key("f", job.id)), on) == 0 then
    return
  end
  dependencies.waiter(job)
  local policy = outcome == "acked" and "ignore" or outcome == "revived" and outcome or dependencies.policy_of(job, outcome)
  if policy == "fail" or policy == "cancel" then
    moves.leave(job)
    return dependencies.fail_dependent(job, outcome)
  end
  job.unmet, job.failed = job.unmet - (was_unmet and 1 or 0), job.failed - (was_unmet and 0 or 1)
  dependencies.edge(job, was_unmet and "SREM" or "HDEL", was_unmet and needs_key(job.id) or named_key("f", job.id), on)
  if policy == "revived" then
    job.unmet = job.unmet + 1
    dependencies.edge(job, "SADD", needs_key(job.id), on)
    write("SADD", users_key(on), job.id)
  elseif policy == "block" then
    job.failed = job.failed + 1
    dependencies.edge(job, "HSET", named_key("f", job.id), on, outcome)
    if outcome == "died" then
      write("SADD", named_key("v", on), job.id)
    end
  end
end

-- Dependents of a job that ended: those that wait, and those that know that it was dead.
local KINDS = { died = "u", revived = "v" }
function release_dependents(id, what)
  local outcome = redis.call("HGET", touch(namespace_key("ended")), id)
  for kind in string.gmatch(KINDS[outcome] or "uv", ".") do
    for _, user in ipairs(steps.steps_left > 0 and steps.some_of(named_key(kind, id)) or {}) do
      local job = jobs.job_of(user)
      if job and not job.is_gone and job.x.waits then
        dependency_ended(job, id, outcome)
      end
      if job and not job.is_gone then
        readers.note(job, id, outcome, jobs.job_of(id))
      end
    end
  end
  steps.finish(what, steps.steps_left > 0)
  if steps.steps_left > 0 then
    readers.look_soon(id)
    free("HDEL", namespace_key("ended"), id)
  end
end

-- A job with more dependencies than one script handles.
function go_on_tying(id, what)
  local job = jobs.job_of(id)
  if job and not job.is_gone and job.x.waits == dependencies.TYING then
    dependencies.ties_left = math.huge
    local outcome = dependencies.tie_all(job, steps.some_of(named_key("m", id)))
    if outcome then
      moves.leave(job)
      dependencies.fail_dependent(job, outcome)
    elseif steps.steps_left > 0 then
      jobs.put(job, "waits", "1")
    end
  end
  steps.finish(what, steps.steps_left > 0)
end

-- Jobs without open dependencies continue; the others go to the place that shows whether a dependency has failed.
function place_waiters()
  for _, job in ipairs(dependencies.waiters) do
    if not job.is_gone and job.x.waits and not dependencies.is_waiting(job) then
      dependencies.forget_needs(job)
      if job.state == BLOCKED then
        moves.leave(job)
        set_free(job)
      end
    elseif not job.is_gone and job.state == BLOCKED then
      dependencies.block(job)
    end
  end
end
