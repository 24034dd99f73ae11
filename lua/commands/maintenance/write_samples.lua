--[[
Write samples of queues, and add points to their history. A sample takes the place of the one that the caller knows: if another process has written one
meanwhile, nothing of this item is written. So no interval has two points. All keys have a TTL of Redis's own, and need no marker of the namespace.

KEYS meta, samples
ARGV clock_ms, deadline_ms, since_ms, most
ITEM queue, known_at, sample, recent_slot, recent_point, past_slot, past_point
samples: hash         queue name -> its last sample
since_ms: integer     when the samples were taken, Unix ms: after a purge nothing from before it is written
most: integer         queues with points in one key at most
known_at: integer     the beginning of the sample that is there, up to its first comma; "" = there is none
sample: text          the new one, "" = it is removed (src/engine/history/samples.ts)
recent_slot: integer  of five minutes; its points are those of ten seconds
recent_point: text    "" = none (src/engine/history/points.ts)
past_slot: integer    of six hours; its points are those of five minutes
past_point: text      "" = none

Returns {status, now_ms, (code, recent_bytes, past_bytes) × N}. Code: 1 written, 0 another sample is there, 2 purged since. Bytes: how many more.
Cost: O(bytes of the key's points of the queue) per item.
]]

--- @adds
--- @requires core/call, core/purges

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local SAMPLE_KEEP_MS, RECENT_KEEP_MS, PAST_KEEP_MS = 691200000, 4200000, 648000000
-- What a field of a hash costs beside its bytes.
local FIELD_BYTES = 64

-- Adds a point of a queue to the hash of a slot. Returns how many bytes more it takes.
local function add_point(key, queue, point, keep_ms)
  if point == "" then
    return 0
  end
  local known = redis.call("HGET", key, queue)
  -- guard: history-queues-bounded
  if not known and redis.call("HLEN", key) >= most then
    return 0
  end
  redis.call("HSET", key, queue, (known or "") .. point)
  if not known then
    redis.call("PEXPIRE", key, keep_ms)
  end
  return #point + (known and 0 or #queue + FIELD_BYTES)
end

-- Read.
local keys = { meta, samples, purge_key() }
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  keys[#keys + 1], keys[#keys + 2] = namespace_key("P" .. ARGV[i + 3]), namespace_key("H" .. ARGV[i + 5])
end
redis.call("EXISTS", unpack(keys))
local is_purged = --[[ guard: samples-of-a-purged-namespace ]] is_from_before_purge(since_ms)

-- Write.
local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local queue, known_at, sample = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local code, recent_bytes, past_bytes = is_purged and 2 or 0, 0, 0
  local known = string.match(redis.call("HGET", samples, queue) or "", "^[^,]*")
  if not is_purged and --[[ guard: samples-by-one-collector ]] known == known_at then
    code = 1
    if sample == "" then
      redis.call("HDEL", samples, queue)
    else
      redis.call("HSET", samples, queue, sample)
    end
    recent_bytes = add_point(namespace_key("P" .. ARGV[i + 3]), queue, ARGV[i + 4], RECENT_KEEP_MS)
    past_bytes = add_point(namespace_key("H" .. ARGV[i + 5]), queue, ARGV[i + 6], PAST_KEEP_MS)
  end
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = code, recent_bytes, past_bytes
end
redis.call("PEXPIRE", samples, SAMPLE_KEEP_MS)
return reply
