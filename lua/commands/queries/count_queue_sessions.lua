--[[
Count by queue the worker sessions that are not lost, a part of them; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms, skip, limit
skip: integer   how many sessions that will be lost sooner are left out
limit: integer  how many are read

Returns {status, now_ms, read, (queue, sessions) × N}. Read: how many sessions were read.
Cost: O(limit · queues of a session).
]]

--- @requires core/call, queues/sessions

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local all_sessions = sessions.sessions_key()
redis.call("EXISTS", meta, all_sessions)
local keys, counts, names = { meta }, {}, {}
for _, worker in ipairs(redis.call("ZRANGEBYSCORE", all_sessions, "(" .. text_of(now_floor), "+inf", "LIMIT", skip, limit)) do
  keys[#keys + 1] = session_key(worker)
end
-- Together: in a slot that is moving here, a session that has not arrived must not count as none.
redis.call("EXISTS", unpack(keys))
for i = 2, #keys do
  local info = redis.call("HGET", keys[i], "info")
  for _, queue in ipairs(info and cjson.decode(info).queues or {}) do
    if not counts[queue] then
      counts[queue], names[#names + 1] = 0, queue
    end
    counts[queue] = counts[queue] + 1
  end
end
local reply = { 0, now_floor, #keys - 1 }
for _, queue in ipairs(names) do
  local n = #reply
  reply[n + 1], reply[n + 2] = queue, counts[queue]
end
return reply
