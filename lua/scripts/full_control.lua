--[[
Change the settings of a queue, which is a full one from then on. Whoever waits for its jobs looks again, and jobs that a limit of their
key holds up are looked at by the clock. Keys of queues are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name; it is made if there is none
ARGV[4] changes      JSON: field -> text; true = this moment, unless it is set; false = not any more
ARGV[5] event        what is told of it, "" = nothing

Returns {status, now_ms, next_ms}. Status: 0 done, 1 too late, 2 the namespace is not registered. Next_ms: the clock is to come then.
Cost: O(1).
]]
local meta, queues, due, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock_ms, deadline_ms, queue, changes, event = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

--- @include "lib/now"
--- @include "lib/keys"
--- @include "lib/named_keys"
--- @include "lib/find_queue"
--- @include "lib/notify"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor, 0 }
end
--- @include "lib/new_queues"

-- Look.
local number = number_of(queue)
local settings, timers, events = queue_key("o", number), space_key("timers"), space_key("events")
redis.call("EXISTS", meta, queues, due, waiting, settings, timers, events, queue_key("i", number))
local set, gone = {}, {}
for field, value in pairs(cjson.decode(changes)) do
  if value == false then
    gone[#gone + 1] = field
  elseif value ~= true or redis.call("HEXISTS", settings, field) == 0 then
    set[#set + 1], set[#set + 2] = field, value == true and text_of(now_floor) or value
  end
end

-- Write.
if #gone > 0 then
  redis.call("HDEL", settings, unpack(gone))
end
write_new_queues()
redis.call("HSET", queues, queue, -number)
if #set > 0 then
  redis.call("HSET", settings, unpack(set))
end
redis.call("ZADD", timers, "LT", text_of(now_floor), "K" .. number, text_of(now_floor), "Z" .. number)
redis.call("ZADD", due, "LT", text_of(now_floor), FULL_LANE)
if event ~= "" then -- To whoever listens: else there is no stream.
--- @include "lib/most_events"
  redis.pcall("XADD", events, "NOMKSTREAM", "MAXLEN", "~", most_events, "*", "e", event, "q", queue, "i", "", "t", "", "g", "", "d", "")
end
notify(queue)
return { 0, now_floor, now_floor }
