-- Extended jobs have indexes of their own, which the pump of the simple path never reads.
local EXTENDED_INDEX = { [SCHEDULED] = "S", [LEASED] = "L", [DEAD] = "d", [BLOCKED] = "b", [HELD] = "h", [DONE] = "z", [CANCELLED] = "z" }
local SIMPLE_INDEX = { [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
local function kind_of(job)
  return (is_extended(job) and EXTENDED_INDEX or SIMPLE_INDEX)[job.state]
end
