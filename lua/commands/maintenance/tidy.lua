--[[
Look at one page of a namespace's queues: forget those that are empty in every state and have no settings, forget the turns of fair keys where no job is
ready, and list those that need a sweep: their earliest expiry has passed, a sweep was left unfinished, most entries of their ready list are stale, their
counts are wrong, or they have stale entries and it is their turn. Numbers of queues are never used again.

KEYS meta, queues, due, expiries, sending
ARGV clock_ms, deadline_ms, cursor, every_ms, stalled_ms
cursor: text         of the page, "0" = begin a round
every_ms: integer    a round begins no sooner than this after the last, ms
stalled_ms: integer  a sweep older than this was left unfinished, ms

Returns {status, now_ms, cursor, queues_left, forgotten, number to sweep × N}.
Cursor "0": the round is over. Queues_left -1: no such namespace, -2: the last round was too recent, nothing was done.
Cost: O(100) queues.
]]

--- @requires core/call, core/header, queues/job_counts, queues/ready_list_reader, queues/fair_keys, jobs/schedule

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Some delivery records whose leases ended a while ago, each of them moved by the pump since: what a server that crashed left behind.
local RECORD_GRACE_MS = 60000
local function ended_records()
  local ended, some = {}, redis.call("HRANDFIELD", sending, 200, "WITHVALUES")
  local is_behind = redis.call("ZRANGEBYSCORE", due, "-inf", now_floor, "LIMIT", 0, 1)[1]
  for i = 1, --[[ guard: tidy-waits-for-the-pump ]] is_behind and 0 or #some, 2 do
    if cmsgpack.unpack(some[i + 1])[1] < now_floor - RECORD_GRACE_MS then
      ended[#ended + 1] = some[i]
    end
  end
  return ended
end

if redis.call("EXISTS", meta) == 0 then
  return { 0, now_floor, "0", -1, 0 }
end
-- A time ahead is from before the clock was set back.
local age_ms = now_floor - (redis.call("HGET", meta, "tidied") or 0)
if cursor == "0" and --[[ guard: janitor-after-clock-set-back ]] age_ms >= 0 and age_ms < every_ms then
  return { 0, now_floor, "0", -2, 0 }
end

-- Read. The slots of an empty queue hold stale entries only; so many slots are dropped at a time. A queue that no worker reads, and whose jobs do not
-- expire, keeps its stale entries: every TURNS minutes it is swept all the same, and counts that an older version got wrong are repaired.
local MAX_SLOTS, MANY_STALE, TURNS, reads_left = 100, 1000, 32, 2000
local turn = math.floor(now_floor / 60000) % TURNS
redis.call("EXISTS", due, expiries, sending)
local ended = cursor == "0" and ended_records() or {}
local page = redis.call("HSCAN", queues, cursor, "COUNT", 100)
local reply, empty, forgotten_due, kept_turns = { 0, now_floor, page[1], 0, 0 }, {}, {}, {}
local has_expired = redis.call("ZCOUNT", expiries, "-inf", text_of(now_floor)) > 0
for i = 1, #page[2], 2 do
  local name, number = page[2][i], math.abs(tonumber(page[2][i + 1]))
  local info, stale, ready = queue_key("i", number), queue_key("g", number), queue_key("r", number)
  local facts = redis.call("HMGET", info, "blanks", "sweep", "far")
  local stale_count = redis.call("SCARD", stale)
  local length = redis.call("LLEN", ready)
  local live = length - stale_count - (facts[1] or 0)
  -- Most queues have ready jobs and no far ones: nothing else of those is read.
  local is_far = tonumber(facts[3] or 0) > 0
  local slots = (live <= 0 or is_far) and redis.call("ZRANGE", queue_key("f", number), 0, MAX_SLOTS - 1) or {}
  local others = live <= 0 and job_counts.count_keys(number, tonumber(page[2][i + 1]) < 0 and "sldpDQSLbhzo" or "sld") or 1
  -- The keys of an idle queue begin together again.
  local kept = fair_keys.kept_turns_key(number)
  if --[[ guard: idle-queue-keeps-no-turns ]] live <= 0 and redis.call("EXISTS", kept) == 1 and job_counts.count_keys(number, "pDQ") == 0 then
    kept_turns[#kept_turns + 1] = kept
  end
  local expiry = has_expired and redis.call("ZSCORE", expiries, number)
  if slots[1] and is_far and not redis.call("ZSCORE", due, number) then
    -- A server of an older version does not know slots, and may have removed the queue from due.
    forgotten_due[#forgotten_due + 1] = slots[1] * schedule.SLOT_MS - schedule.LEAD_MS
    forgotten_due[#forgotten_due + 1] = number
  end
  local looks_empty = live <= 0 and others == 0 and --[[ guard: far-queue-not-forgotten ]] not is_far
  local is_read = looks_empty and length <= reads_left
  reads_left = reads_left - (is_read and length or 0)
  if is_read and (length == 0 or --[[ guard: janitor-reads-empty-list ]] ready_list_reader.stale_head(number, length).taken == length) then
    local keys = { ready, stale, info, queue_key("f", number) }
    for _, slot in ipairs(slots) do
      keys[#keys + 1] = queue_key("f", number) .. ":" .. slot
    end
    redis.call("EXISTS", unpack(keys))
    empty[#empty + 1] = { name = name, number = number, keys = keys, slots = slots }
  elseif facts[2] and now_floor - facts[2] > stalled_ms then
    reply[#reply + 1] = number
  elseif --[[ guard: one-sweep-per-list ]] not facts[2] and (expiry and tonumber(expiry) <= now_floor or --[[ guard: stale-list-swept ]] stale_count > math.max(live, MANY_STALE)
    or live < 0 or looks_empty or stale_count > 0 and number % TURNS == turn) then
    reply[#reply + 1] = number
  end
end

-- Write.
local forgotten = 0
-- guard: tidy-drops-dead-records
if #ended > 0 then
  redis.call("HDEL", sending, unpack(ended))
end
if #kept_turns > 0 then
  redis.call("UNLINK", unpack(kept_turns))
end
for _, queue in ipairs(empty) do
  if #queue.slots == MAX_SLOTS then
    redis.call("UNLINK", unpack(queue.keys, 5))
    redis.call("ZREM", queue.keys[4], unpack(queue.slots))
  else
    forgotten = forgotten + 1
    redis.call("UNLINK", unpack(queue.keys))
    redis.call("HDEL", queues, queue.name)
    redis.call("ZREM", due, queue.number)
    redis.call("ZREM", expiries, queue.number)
  end
end
-- guard: far-queue-back-in-due
if #forgotten_due > 0 then
  redis.pcall("ZADD", due, unpack(forgotten_due))
end
if cursor == "0" then
  redis.pcall("HSET", meta, "tidied", now_floor)
end
reply[4], reply[5] = redis.call("HLEN", queues), forgotten
return reply
