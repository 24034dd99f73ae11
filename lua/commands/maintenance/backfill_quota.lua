--[[
Count jobs for the quota on bytes that were stored while it was not set.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, counted}.
Cost: O(1) per item.
]]

--- @requires core/call, core/header, limits/beside_bytes

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local function beside_of(id)
  local all, x = redis.call("HGETALL", extras_key(id)), {}
  for i = 1, #all, 2 do
    x[all[i]] = all[i + 1]
  end
  return beside_bytes(x)
end

-- Read. Jobs that have gone are skipped; a namespace without its marker has no jobs.
local counted, bytes, seen = {}, 0, {}
local is_known = redis.call("EXISTS", meta) == 1
for i = FIRST_ITEM, #ARGV do
  local key = job_key(ARGV[i])
  local flags = string.byte(redis.call("GETRANGE", key, FLAGS_FROM - 1, FLAGS_FROM - 1))
  if is_known and flags and not seen[key] then
    seen[key] = true
    local is_new = --[[ guard: quota-backfill-once ]] flags < COUNTED
    -- Older servers count bodies only.
    local beside = --[[ guard: backfill-counts-beside ]] flags % 2 == HAS_EXTRAS and redis.call("HEXISTS", extras_key(ARGV[i]), "beside") == 0 and beside_of(ARGV[i]) or 0
    if is_new or beside > 0 then
      counted[#counted + 1] = { key = key, extras_key = extras_key(ARGV[i]), flags = is_new and flags + COUNTED or flags, beside = beside }
      bytes = bytes + beside + (is_new and redis.call("STRLEN", key) - HEADER_BYTES or 0)
    end
  end
end

-- Write.
for _, job in ipairs(counted) do
  redis.call("SETRANGE", job.key, FLAGS_FROM - 1, string.char(job.flags))
  if job.beside > 0 then
    redis.call("HSET", job.extras_key, "beside", job.beside)
  end
end
if bytes > 0 then
  redis.call("HINCRBY", meta, "bytes", bytes)
end
return { 0, now_floor, #counted }
