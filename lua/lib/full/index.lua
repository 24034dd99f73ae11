-- Rich jobs have indexes of their own, which the plain pump never sees.
local RICH_INDEX = { [SCHEDULED] = "S", [LEASED] = "L", [DEAD] = "d", [BLOCKED] = "b", [HELD] = "h", [DONE] = "z", [CANCELLED] = "z" }
local PLAIN_INDEX = { [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
local function kind_of(job)
  return (is_rich(job) and RICH_INDEX or PLAIN_INDEX)[job.state]
end

-- The clock tells those that wait for it (lib/full/hear). outcome: the event of its end, "cascaded" = cancel them too, "revived" = it lives.
local revoke
local function tell_users(job, outcome)
  if outcome and job.x.users then
    write("HSET", space_key("ended"), job.id, outcome)
    set_timer("U" .. job.id, now_floor)
  end
end
