--[[
Write events of steps that other scripts took, for whoever listens to the namespace. The key of the stream is built from the prefix of
meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
ARGV[1..] item × N   event, queue, id, facts

Id: as it is kept, "" = of the queue as a whole. Facts: JSON of an object, "" = none. Returns how many were written, -1 if nobody listens.
Cost: O(1) per item.
]]
local meta = KEYS[1]

--- @include "lib/keys"
--- @include "lib/events"

for i = 1, #ARGV, 4 do
  event(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return listens and write_events() or -1
