--[[
Store jobs, each with its place in a line: ready now, or scheduled. An item may name a job that it replaces, which is removed
in the same step. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   queue, id, replaces, delay_ms, ttl_ms, tries, attributes, body

Returns {status, now_ms, code × N}. Status: 0 done, 1 too late, 2 the namespace is not registered.
Code: 0 stored, 1 the id is taken (nothing changed for this item).
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/store_job"
--- @include "lib/find_queue"
--- @include "lib/notify"
--- @include "lib/line_up"
--- @include "lib/remove"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

-- Look: every key that will be written is touched first, so that a slot that is moving stops the script before it changes anything.
redis.call("EXISTS", due, expiries)
local reply, fresh, taken, touched = { 0, now_floor }, {}, {}, {}
for i = 3, #ARGV, 8 do
  local name, id, replaces = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local number = find_queue(name)
  if not number then
    last_queue = last_queue + 1
    number = last_queue
    numbers[name] = number
    fresh[#fresh + 1] = name
  end
  if not touched[number] then
    touched[number] = true
    redis.call("EXISTS", queue_key("i", number), queue_key("r", number), queue_key("s", number), queue_key("g", number))
  end
  local present = redis.call("EXISTS", meta, job_key(id)) == 2 and read_job(id)
  if present and is_expired(present) then
    plan_removal(id, present)
    present = nil
  end
  local exists = present or taken[id]
  if ARGV[i + 6] ~= "" then
    redis.call("EXISTS", extras_key(id))
  end
  reply[#reply + 1] = exists and 1 or 0
  taken[id] = true
  if replaces ~= "" and not exists then
    local old = read_job(replaces)
    if old and old.queue == number then
      plan_removal(replaces, old)
    end
  end
end

-- Write.
remove_planned()
if #fresh > 0 then
  redis.call("HSET", meta, "last_queue", last_queue)
  for _, name in ipairs(fresh) do
    redis.call("HSET", queues, name, numbers[name])
    redis.call("HSET", queue_key("i", numbers[name]), "name", name)
  end
end
for i = 3, #ARGV, 8 do
  if reply[(i - 3) / 8 + 3] == 0 then
    local name, id = ARGV[i], ARGV[i + 1]
    local delay_ms, ttl_ms, attributes = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), ARGV[i + 6]
    local number = numbers[name]
    local job = {
      state = SCHEDULED, flags = attributes ~= "" and HAS_EXTRAS or 0, priority = 0, tries = tonumber(ARGV[i + 5]),
      attempts = 0, lease = 0, queue = number, entry = 0, expires = ttl_ms > 0 and now_ceil + ttl_ms or 0,
    }
    if delay_ms > 0 then
      redis.call("ZADD", queue_key("s", number), now_ceil + delay_ms, id)
      redis.call("ZADD", due, "LT", now_ceil + delay_ms, number)
    else
      join_line(number, name, id, job)
    end
    store_job(id, job, ttl_ms, attributes, ARGV[i + 7])
  end
end
write_lines("RPUSH")
return reply
