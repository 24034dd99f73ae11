-- What happens to a job when one that it depends on ended in another way than done: it fails or is cancelled.
local function policy_of(job, outcome)
  return outcome == "cascaded" and "cancel" or job.x.onfail or "block"
end

local function fail_dependent(job, outcome)
  -- A job that is being cancelled, and was moved by its worker meanwhile, is cancelled whatever its policy.
  if job.x.cancel or policy_of(job, outcome) == "cancel" then
    if outcome == "cascaded" then
      put(job, "cascade", "1")
    end
    conclude(job, CANCELLED, "cancelled")
    job.state = CANCELLED
  else
    local message = "a job that it depends on: " .. outcome
    put(job, "fgroup", "dependency_failed")
    put(job, "fmessage", message)
    put(job, "fat", now_floor)
    put(job, "fworker", nil)
    die(job, "dependency_failed", message)
    job.has_failed_by_dependency = true -- The statistics count it.
  end
end
