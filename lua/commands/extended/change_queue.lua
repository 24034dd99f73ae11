--[[
Change the settings of a queue, which is an extended one once it has had any. Servers that wait for its jobs are woken, and a timer looks at jobs that
a concurrency key holds. A full Redis refuses a new queue.

KEYS meta, queues, due, waiting
ARGV clock_ms, deadline_ms, queue, changes, event, makes
changes: text  JSON: field -> text; true = this moment, unless it is set; false = remove; an object = who pauses it or some of its jobs, and for how many
               ms, stored with the time of the pause (extended/settings); a list = what is there before, and what from then on, "" = nothing: else the
               field stays as it is
event: text    name of its event, "" = none
makes: text    create the queue if there is none, and less than so many queues; 0 = however many, "" = do not

Returns {status, now_ms, next_ms, found}. Next_ms: when the timers run. Found: 0 there is no such queue and nothing has changed, 1 there was, 2 it was
created, 3 there are too many (next_ms says how many), 4 a strict order allows one running job per key (next_ms says how many the queue would allow),
5 it has as many pauses as it may, 6 it is not fair, and has no fair key to pause.
Cost: O(1).
]]

--- @requires core/call, limits/store_room, queues/registry, queues/notify, queues/pauses, jobs/events

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

local was_there = registry.find_queue(queue) ~= nil
-- guard: resume-makes-no-queue
if not was_there and makes == "" then
  return { 0, now_floor, 0, 0 }
elseif not was_there and makes ~= "0" and --[[ guard: queue-made-within-quota ]] redis.call("HLEN", queues) >= tonumber(makes) then
  return { 0, now_floor, redis.call("HLEN", queues), 3 }
elseif not was_there and --[[ guard: queue-made-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
if not registry.read_last_queue() then
  return { 2, now_floor, 0, 0 }
end

-- Read.
local number = registry.number_of(queue)
local settings, timers, stream = queue_key("o", number), namespace_key("timers"), namespace_key("events")
redis.call("EXISTS", meta, queues, due, waiting, settings, timers, stream, queue_key("i", number))
-- What becomes of a field; nil = it stays as it is.
local function value_of(field, change)
  if type(change) ~= "table" or not change[1] then
    return change
  end
  local before, after = unpack(change)
  local is_other = (redis.call("HGET", settings, field) or "") ~= before
  if --[[ guard: moved-queue-setting-keeps-changes ]] is_other then
    return nil
  end
  return after ~= "" and after
end
-- A pause: of the queue or, by its field, of some of its jobs. One that is set anew begins when it began.
local MOST_PAUSES = 100
local more_pauses, lacks_keys = 0, false
local function pause_of(field, pause)
  local before = redis.call("HGET", settings, field)
  more_pauses = more_pauses + (field ~= "pauser" and not before and 1 or 0)
  lacks_keys = lacks_keys or string.sub(field, 1, 8) == "pause f:" and redis.call("HGET", queue_key("i", number), "fair") ~= "on"
  -- A server that does not know the field resumes the queue without it: the time tells to which pause it belongs.
  local at = field == "pauser" and redis.call("HGET", settings, "paused") or before and cjson.decode(before).at or now_floor
  pause.at, pause.ends, pause.for_ms = tonumber(at), pause.for_ms and now_ceil + pause.for_ms or nil, nil
  return cjson.encode(pause)
end

local function count_pauses()
  local count = 0
  for _, field in ipairs(redis.call("HKEYS", settings)) do
    count = count + (string.sub(field, 1, 6) == "pause " and 1 or 0)
  end
  return count
end

-- Whether the queue becomes fair, or is fair no more: a timer then moves its ready jobs (queues/fair_order).
local FAIR = { set = { flag = "on", first = "r" }, gone = { flag = "off", first = "Q" } }
local fair
-- Held jobs are read from the first one again: a pass that is under way has skipped some of them by the old limits. seen: of a pass of an older server.
local news, set, gone = {}, {}, { --[[ guard: change-reads-held-jobs-again ]] "last_held", "seen" }
for field, change in pairs(cjson.decode(changes)) do
  local value = value_of(field, change)
  if field == "fair" and value ~= nil and (value == false) == (redis.call("HGET", queue_key("i", number), "fair") == "on") then
    fair = value == false and FAIR.gone or FAIR.set
  end
  news[field] = value
  if value == false then
    gone[#gone + 1] = field
  elseif type(value) == "table" then
    set[#set + 1], set[#set + 2] = field, pause_of(field, value)
  elseif value ~= nil and (value ~= true or redis.call("HEXISTS", settings, field) == 0) then
    set[#set + 1], set[#set + 2] = field, value == true and text_of(now_floor) or value
  end
end

local function becomes(field)
  return news[field] == nil and redis.call("HGET", settings, field) or news[field]
end
local most_running = tonumber(becomes("kmax") or 1)
if --[[ guard: strict-order-needs-one-running ]] becomes("strict") and most_running > 1 then
  return { 0, now_floor, most_running, 4 }
elseif more_pauses > 0 and --[[ guard: pauses-are-bounded ]] count_pauses() + more_pauses > MOST_PAUSES then
  return { 0, now_floor, MOST_PAUSES, 5 }
elseif lacks_keys then
  return { 0, now_floor, 0, 6 }
end

local turns = {}
for _, field in ipairs(gone) do
  turns[#turns + 1] = { pauses.turn_after_pause(number, field) }
end

-- Write.
redis.call("HDEL", settings, unpack(gone))
for _, turn in ipairs(turns) do
  if turn[1] then
    redis.call("ZADD", turn[1], turn[3], turn[2])
  end
end
registry.write_new_queues()
if #set > 0 then
  redis.call("HSET", queues, queue, -number)
  redis.call("HSET", settings, unpack(set))
end
if fair then
  redis.call("HSET", queue_key("i", number), "fair", fair.flag, "fair_order", fair.first)
  redis.call("ZADD", timers, "LT", text_of(now_floor), "Y" .. number)
end
if #set > 0 or registry.is_extended_queue[queue] then
  redis.call("ZADD", timers, "LT", text_of(now_floor), "K" .. number, text_of(now_floor), "Z" .. number)
  redis.call("ZADD", due, "LT", text_of(now_floor), EXTENDED_TIMERS)
end
if event ~= "" then -- Without a subscriber there is no stream.
  redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", events.max_events(), "*", "e", event, "q", queue, "i", "", "t", "", "g", "", "d", "")
end
notify.notify_types(queue, { [notify.ANY] = true })
return { 0, now_floor, now_floor, was_there and 1 or 2 }
