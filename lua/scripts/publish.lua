--[[
Store jobs, each with its place in a line: ready now, or scheduled. The first may replace a job, which is removed in the same step.
Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] replaces     the id whose place the first item takes, "" = none
ARGV[4..] item × N   options, id, body

Options: "delay_ms,ttl_ms,tries,minted,queue,attributes", read once for all items that share them; minted 1: the id never lived.
Returns {status, now_ms, codes}. Status: 0 done, 1 too late, 2 the namespace is not registered.
Codes: a digit per item: 0 stored, 1 the id is taken (nothing changed for this item).
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, replaces = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/slots"
--- @include "lib/schedule"
--- @include "lib/values"
--- @include "lib/remove"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/options"

-- Look: every key that will be written is touched first, so that a slot that is moving stops the script before it changes anything.
local args, keys, extras, taken, codes, n = ARGV, { meta }, { meta }, {}, {}, 0
for i = 4, #ARGV, 3 do
  local kind, id = kinds[args[i]] or read_options(args[i]), args[i + 1]
  n = n + 1
  keys[n + 1], codes[n] = job_key(id), "0"
  if kind.attributes ~= "" then
    extras[#extras + 1] = extras_key(id)
  end
  -- A minted id stands in a batch once.
  if not kind.minted then
    codes[n] = taken[id] and "1" or "0"
    taken[id] = true
  end
end
redis.call("EXISTS", unpack(extras))
if redis.call("EXISTS", unpack(keys)) > 1 then
  for item = 1, n do
    local id = args[item * 3 + 2]
    local present = read_job(id)
    if present and is_expired(present) then
      plan_removal(id, present.state, present.queue, present.entry, present.flags)
    elseif present then
      codes[item] = "1"
    end
  end
end
local old = replaces ~= "" and codes[1] == "0" and read_job(replaces)
if old and old.queue == kinds[args[4]].number then
  plan_removal(replaces, old.state, old.queue, old.entry, old.flags)
end

-- Write.
remove_planned()
if #new_queues > 0 then
  redis.call("HSET", meta, "last_queue", last_queue)
  for _, name in ipairs(new_queues) do
    redis.call("HSET", queues, name, numbers[name])
    redis.call("HSET", queue_key("i", numbers[name]), "name", name)
  end
end
for item, code in ipairs(codes) do
  local kind, id, body = kinds[args[item * 3 + 1]], args[item * 3 + 2], args[item * 3 + 3]
  if code == "0" then
    local entry = kind.line and enter(kind.line, id, 0) or nil
    if kind.due then
      schedule_job(kind.number, id, kind.due, kind.slot)
    end
    put_value(keys[item + 1], ((entry or 1) == 1 and kind.header or with_entry(kind.header, entry)) .. body)
    if kind.attributes ~= "" then
      redis.call("HSET", extras_key(id), "attributes", kind.attributes)
    end
  end
end
write_schedule()
write_values()
write_lines("RPUSH")
return { 0, now_floor, table.concat(codes) }
