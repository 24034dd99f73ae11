--[[
Show recurring jobs: one, or a page of them in the order of their ids.

KEYS meta
ARGV clock_ms, deadline_ms, id, after, limit
id: text        of the one; "" = a page
after: text     the id before the page, "" = from the first
limit: integer  how many, at most

Returns {status, now_ms, more, (id, fields) × N}. More: 1 if there may be more behind the page, which ends after 4 MiB in any case. Fields: a flat
list of fields and values.
Cost: O(limit).
]]

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Each key together with another one: so a key of a slot that moves to another node is not taken for one that does not exist.
redis.call("EXISTS", meta, id == "" and namespace_key("schedules") or named_key("R", id))
local MOST_BYTES = 4194304
local ids, reply, bytes = { id }, { 0, now_floor, 0 }, 0
if id == "" then
  ids = redis.call("ZRANGEBYLEX", namespace_key("schedules"), after == "" and "-" or "(" .. after, "+", "LIMIT", 0, limit)
end
for n, one in ipairs(ids) do
  local fields = redis.call("HGETALL", named_key("R", one))
  if #fields > 0 then
    reply[#reply + 1], reply[#reply + 2] = one, fields
  else
    redis.call("EXISTS", meta, named_key("R", one))
  end
  for _, value in ipairs(fields) do
    bytes = bytes + #value
  end
  if id == "" and (n == limit or bytes > MOST_BYTES) then
    reply[3] = 1
    break
  end
end
return reply
