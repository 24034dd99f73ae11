--[[
Write events of what other scripts did, for the clients that are subscribed to the namespace. The key of the stream is built from the prefix of
meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1..] item × N   event, queue, id, facts

Id: as it is stored, "" = the event is about the queue. Facts: JSON of an object, "" = none. Returns how many were written, -1 if no client is
subscribed.
Cost: O(1) per item.
]]
local meta = KEYS[1]

--- @adds
--- @requires core/call, jobs/events

use_namespace(meta)

for i = 1, #ARGV, 4 do
  emit(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return has_subscribers and write_events() or -1
