-- What becomes of a job when one that it waits for ended otherwise than done: false = it goes on, true = it has ended too.
local function policy_of(job, outcome)
  return outcome == "cascaded" and "cancel" or job.x.onfail or "block"
end

local function fall(job, outcome)
  -- One that is to be cancelled, and was moved on by its owner meanwhile, is cancelled whatever its policy.
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
  end
end
