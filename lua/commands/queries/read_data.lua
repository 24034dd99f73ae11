--[[
Show the data of jobs, up to a number of bytes; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms, most_bytes
ITEM id
most_bytes: integer  of data, of all items together

Returns {status, now_ms, (code, queue, data, type) × N}. Code: 0 no such job, 1 data, 2 left out: it would be more than most_bytes. Type: content
type, "" = none stored.
Cost: O(1) per item, of what is shown.
]]

--- @requires core/call, core/header, queues/registry

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply, bytes = { 0, now_floor }, 0
for i = FIRST_ITEM, #ARGV do
  local id, n = ARGV[i], #reply
  local job = read_job(id)
  local size = job and not is_expired(job) and redis.call("STRLEN", job_key(id)) - HEADER_BYTES
  local fits = size and bytes + size <= most_bytes
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = size and (fits and 1 or 2) or 0, size and registry.name_of(job.queue) or "", "", ""
  if fits then
    bytes = bytes + size
    reply[n + 3] = redis.call("GETRANGE", job_key(id), HEADER_BYTES, -1)
    reply[n + 4] = job.flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "ctype") or ""
  end
end
return reply
