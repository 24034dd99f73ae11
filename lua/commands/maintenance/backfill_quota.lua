--[[
Count jobs for the quota on bytes that were stored while it was not set. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker; its bytes are those that count for the quota
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   id

Returns {status, now_ms, counted}. Status: 0 done, 1 too late.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

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
for i = 3, #ARGV do
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
