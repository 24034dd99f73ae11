--[[
Count the leases of workers; or forget workers, which are listed again when they are seen again. Their jobs stay as they are.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] workers      zset: name -> when it was last seen, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] verb         count or forget
ARGV[4..] item × N   worker

Returns {status, now_ms, (seen_ms, leased, stalled) × N}. Status: 0 done, 1 too late. Seen_ms 0: there is none of this name. Stalled: jobs whose
lease expired, and that no worker has leased since.
Cost: O(log N) per item.
]]
local meta, workers = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, verb = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply, keys = { 0, now_floor }, { meta, workers }
for i = 4, #ARGV do
  keys[#keys + 1] = namespace_key("w:" .. ARGV[i])
end
redis.call("EXISTS", unpack(keys))
for i = 4, #ARGV do
  local key, n = keys[i - 1], #reply
  reply[n + 1] = tonumber(redis.call("ZSCORE", workers, ARGV[i]) or 0)
  reply[n + 2] = redis.call("ZCOUNT", key, "(" .. text_of(now_floor), "+inf")
  reply[n + 3] = redis.call("ZCOUNT", key, "-inf", text_of(now_floor))
end
if verb == "forget" then
  for i = 4, #ARGV do
    redis.call("ZREM", workers, ARGV[i])
    redis.call("UNLINK", keys[i - 1])
  end
end
return reply
