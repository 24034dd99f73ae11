--[[
Describe failure groups: how many dead jobs each has, when the first and the last of them died, and how many in each hour of the last day; changes
nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, most_bytes
ITEM group
most_bytes: integer  of a message, at most

Returns {status, now_ms, (jobs, first_ms, last_ms, id, queue, message, jobs of an hour × 24) × N}, in order. Jobs 0: there is no such group. Id, queue,
message: of the job that died last; the message may be cut within a character. Hours are those of UTC, the one of now_ms last.
Cost: O(24 log N) per item.
]]

--- @requires core/call, core/header, queues/registry, extended/indexes

local HOURS, HOUR_MS = 24, 3600000

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, queues)
local reply, hour = { 0, now_floor }, now_floor - now_floor % HOUR_MS
for i = FIRST_ITEM, #ARGV do
  local key, n = indexes.index_key("F", ARGV[i]), #reply
  local head, tail = redis.call("ZRANGE", key, 0, 0, "WITHSCORES"), redis.call("ZREVRANGE", key, 0, 0, "WITHSCORES")
  local id, first, last = tail[1] or "", tonumber(head[2]) or 0, tonumber(tail[2]) or 0
  local job = tail[1] and read_job(id)
  local message = job and redis.call("HGET", extras_key(id), "fmessage") or ""
  reply[n + 1], reply[n + 2], reply[n + 3] = redis.call("ZCARD", key), first, last
  reply[n + 4], reply[n + 5] = job and id or "", job and registry.name_of(job.queue) or ""
  reply[n + 6] = string.sub(message, 1, most_bytes)
  for step = 1, HOURS do
    local from = hour + (step - HOURS) * HOUR_MS
    local is_last = step == HOURS
    local is_counted = last >= from and (is_last or first < from + HOUR_MS)
    reply[n + 6 + step] = is_counted and redis.call("ZCOUNT", key, text_of(from), is_last and "+inf" or "(" .. text_of(from + HOUR_MS)) or 0
  end
end
return reply
