--[[
Read a namespace's events, and have them written for a while. Their stream exists only while a client is subscribed. Its first entry is no event: it
marks the beginning.

KEYS listening, events
ARGV after, count, keep_ms, most
listening: string  with a TTL: a client is subscribed; how many events are kept
events: stream     e event, q queue, i id as it is stored, t type, g tags (JSON), d facts (JSON); lasts as long as listening
after: text        id of the last event that was read, "" = from now on
count: integer     events to read, at most
keep_ms: integer   have events written for so long from now on, ms; 0 = only read
most: text         about how many are kept

Returns {last, has_gap, (id, e, q, i, t, g, d) × N}. Last: the stream's newest id, "" = there is no stream. Has_gap: 1 = the events that followed the
last one that was read have been removed.
Cost: O(count).
]]

local FIELDS = { "e", "q", "i", "t", "g", "d" }
local is_there = redis.call("EXISTS", events) == 1
redis.call("EXISTS", listening, events)

if keep_ms > 0 then
  -- A full Redis still extends what is there.
  if redis.call("PEXPIRE", listening, keep_ms) == 0 or redis.call("GET", listening) ~= most then
    redis.call("SET", listening, most, "PX", keep_ms)
  end
  if not is_there then
    redis.call("XADD", events, "*", "e", "")
  end
  -- guard: stream-deleted-after-last
  redis.call("PEXPIRE", events, keep_ms)
elseif not is_there then
  return { "", 0 }
end

local newest = redis.call("XREVRANGE", events, "+", "-", "COUNT", 1)[1]
local reply = { newest and newest[1] or "0-0", 0 }
if after == "" then
  return reply
end
-- Entries are removed from the oldest on: while one that was read is there, no later one has been removed.
reply[2] = #redis.call("XRANGE", events, "-", after, "COUNT", 1) == 0 and --[[ guard: missing-events-reported ]] 1 or 0
for _, entry in ipairs(redis.call("XRANGE", events, "(" .. after, "+", "COUNT", count)) do
  local of = {}
  for i = 1, #entry[2], 2 do
    of[entry[2][i]] = entry[2][i + 1]
  end
  reply[#reply + 1] = entry[1]
  for _, field in ipairs(FIELDS) do
    reply[#reply + 1] = of[field] or ""
  end
end
return reply
