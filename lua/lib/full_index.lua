-- Rich jobs have indexes of their own, which the plain pump never sees.
local RICH_INDEX = { [SCHEDULED] = "S", [LEASED] = "L", [DEAD] = "d", [BLOCKED] = "b", [HELD] = "h", [DONE] = "z", [CANCELLED] = "z" }
local PLAIN_INDEX = { [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
local function kind_of(job)
  return (is_rich(job) and RICH_INDEX or PLAIN_INDEX)[job.state]
end
