-- A timer runs soon for the jobs that depend on this one (dependency_ended). outcome: the event of its end, "cascaded" = cancel them too,
-- "revived" = the job was put back.
local revoke
local function notify_dependents(job, outcome)
  if outcome and job.x.users then
    write("HSET", namespace_key("ended"), job.id, outcome)
    set_timer("U" .. job.id, now_floor)
  end
end
