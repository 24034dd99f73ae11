--[[
Write events of what other scripts did, for the clients that are subscribed to the namespace.

KEYS meta
ARGV clock_ms, since_ms
ITEM event, queue, id, facts
since_ms: integer  the time of the first event, Unix ms: after a purge nothing from before it is written

Id: as it is stored, "" = the event is about the queue. Facts: JSON of an object, "" = none. Returns how many were written, -1 if no client is
subscribed.
Cost: O(1) per item.
]]

--- @adds
--- @requires core/call, core/purges, jobs/events

use_namespace(meta)
start_clock(clock_ms, 0)
redis.call("EXISTS", meta, purge_key())

if --[[ guard: events-of-a-purged-namespace ]] is_from_before_purge(since_ms) then
  return 0
end
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  events.emit(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return events.has_subscribers and events.write_events() or -1
