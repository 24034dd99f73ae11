--[[
Count the jobs of queues by state; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms
ITEM queue

Returns {status, now_ms, (ready, scheduled, leased, dead, oldest, blocked, held, done, cancelled, stuck) × N}. Ready: entries of the ready list less
stale ones and tombstones, and jobs in other places (queues/type_lists). Oldest: when the first ready job of a priority was published, of up to 8 priorities and of those without one, Unix ms; 0 =
not known, or none (within the first 20 entries of the list). Done, cancelled: jobs that are kept. Stuck: those of the blocked ones that wait for a job
that failed.
Cost: O(log N) per item.
]]

--- @requires core/call, core/header, queues/registry, queues/type_keys, queues/fair_keys, queues/oldest_jobs

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local function oldest_in_list(number)
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), 0, 19)) do
    local id = string.sub(entry, 1, -2)
    local job = entry ~= "" and read_job(id)
    if is_live_entry(job, entry, number) then
      return oldest_jobs.publish_time_or_put(id, job)
    end
  end
end

-- The first job of some lists, of types or of fair keys: those that come first in their directory, and those that come last.
local function oldest_in_lists(number, directory, list_key)
  local oldest = math.huge
  redis.call("EXISTS", meta, directory)
  for _, range in ipairs({ { 0, oldest_jobs.MOST_PRIORITIES - 1 }, { -oldest_jobs.MOST_PRIORITIES, -1 } }) do
    for _, name in ipairs(redis.call("ZRANGE", directory, range[1], range[2])) do
      local key = list_key(number, name)
      redis.call("EXISTS", meta, key)
      local id = redis.call("ZRANGE", key, 0, 0)[1]
      local job = id and read_job(id)
      oldest = math.min(oldest, job and oldest_jobs.publish_time_or_put(id, job) or math.huge)
    end
  end
  return oldest
end

local function oldest_listed(number)
  return math.min(oldest_in_lists(number, type_keys.directory_key(number), type_keys.list_key), oldest_in_lists(number, fair_keys.turns_key(number), fair_keys.fair_list_key))
end

local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local number, n = registry.find_queue(ARGV[i]), #reply
  if number then
    -- Together: in a slot that is moving here, a key that has not arrived must not count as empty.
    local keys = { meta }
    for kind in string.gmatch("rgisldpSLbhz", ".") do
      keys[#keys + 1], keys[kind] = queue_key(kind, number), queue_key(kind, number)
    end
    redis.call("EXISTS", unpack(keys))
    local facts = redis.call("HMGET", keys.i, "blanks", "far", "typed")
    local function size(kind)
      return redis.call("ZCARD", keys[kind])
    end
    local ready = redis.call("LLEN", keys.r) - redis.call("SCARD", keys.g) - (facts[1] or 0)
    -- Only extended queues have indexes of the extended path.
    local extended = registry.is_extended_queue[ARGV[i]] and size or function() return 0 end
    local ranked, typed = extended("p"), tonumber(facts[3] or 0)
    reply[n + 1] = ready + ranked + typed
    reply[n + 2] = size("s") + (facts[2] or 0) + extended("S")
    reply[n + 3], reply[n + 4] = size("l") + extended("L"), size("d")
    local oldest = math.min(oldest_in_list(number) or math.huge, --[[ guard: age-of-priority-jobs ]] ranked > 0 and oldest_jobs.oldest_by_priority(keys.p) or math.huge, typed > 0 and oldest_listed(number) or math.huge)
    reply[n + 5] = oldest < math.huge and oldest or 0
    -- Scores below zero: cancelled jobs that are kept, and blocked ones that wait for a job that failed.
    local function below_zero(kind)
      return registry.is_extended_queue[ARGV[i]] and redis.call("ZCOUNT", keys[kind], "-inf", "(0") or 0
    end
    local cancelled = below_zero("z")
    reply[n + 6], reply[n + 7], reply[n + 8], reply[n + 9] = extended("b"), extended("h"), extended("z") - cancelled, cancelled
    reply[n + 10] = below_zero("b")
  else
    for at = 1, 10 do
      reply[n + at] = 0
    end
  end
end
return reply
