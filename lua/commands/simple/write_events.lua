--[[
Write events of what other scripts did, for the clients that are subscribed to the namespace. The key of the stream is built from the prefix of
meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] since_ms     the time of the first event, Unix ms: after a purge nothing from before it is written
ARGV[3..] item × N   event, queue, id, facts

Id: as it is stored, "" = the event is about the queue. Facts: JSON of an object, "" = none. Returns how many were written, -1 if no client is
subscribed.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, since_ms = ARGV[1], tonumber(ARGV[2])

--- @adds
--- @requires core/call, core/purges, jobs/events

use_namespace(meta)
start_clock(clock_ms, 0)
redis.call("EXISTS", meta, purge_key())

if --[[ guard: events-of-a-purged-namespace ]] is_from_before_purge(since_ms) then
  return 0
end
for i = 3, #ARGV, 4 do
  emit(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return has_subscribers and write_events() or -1
