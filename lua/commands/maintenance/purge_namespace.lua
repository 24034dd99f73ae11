--[[
Remove what is left of a namespace without queues. First its marker, with all keys that have fixed names: from then on a publish registers the
namespace again. Then, in further calls, keys that no index leads to, as long as it has not been registered again. The engine takes it off the pool's
list, and knows the kinds of keys (src/redis/record-kinds.ts). The time of the purge stays for a while outside of the namespace (core/purges).

KEYS meta, queues
ARGV clock_ms, deadline_ms, is_marker
ITEM key
is_marker: integer  1 = the marker, and the given keys; 0 = keys of a namespace that has none

Returns {status, now_ms, removed}. Removed: how many keys, -1 = none, the namespace is in use again.
Cost: O(1) per item.
]]

--- @requires core/call, core/purges

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local keys = {}
for i = FIRST_ITEM, #ARGV do
  keys[#keys + 1] = ARGV[i]
end
redis.call("EXISTS", meta, queues, purge_key(), unpack(keys))
-- guard: new-namespace-survives-a-purge
if --[[ guard: purge-keeps-new-queue ]] redis.call("EXISTS", queues) == 1 or is_marker == 0 and redis.call("EXISTS", meta) == 1 then
  return { 0, now_floor, -1 }
end

-- Write.
if is_marker == 1 then
  -- guard: purge-is-remembered
  remember_purge()
end
return { 0, now_floor, #keys > 0 and redis.call("UNLINK", unpack(keys)) or 0 }
