-- What decides whether the jobs of a queue run: its settings and counts, its push target, who sends lease requests for it, and whether Redis is full.
--- @requires core/call, queues/registry, queues/notify, queues/type_keys, queues/fair_keys, queues/lease_requests, queues/pace, extended/settings, limits/rates
--- @requires limits/store_room
--- @exports add_queue_facts, add_type_requests, add_types

-- Of the lease requests of the namespace; and members that are read to find them: one queue may have some for each type.
local MOST_SHOWN = 20
local MOST_READ = 200

local function first_score(key)
  return tonumber(redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2] or math.huge)
end

-- Jobs that are ready, scheduled, blocked, held and leased; and when the first of the scheduled ones is due, as far as it is indexed, 0 = not known.
local function counts_of(number)
  local keys = { meta_key }
  for kind in string.gmatch("rgipsSbhlL", ".") do
    keys[#keys + 1], keys[kind] = queue_key(kind, number), queue_key(kind, number)
  end
  redis.call("EXISTS", unpack(keys))
  local size = function(kind)
    return redis.call("ZCARD", keys[kind])
  end
  local info = redis.call("HMGET", keys.i, "blanks", "far", "typed")
  local ready = redis.call("LLEN", keys.r) - redis.call("SCARD", keys.g) - (info[1] or 0) + (info[3] or 0) + size("p")
  local due = math.min(first_score(keys.s), first_score(keys.S))
  local scheduled = size("s") + size("S") + (info[2] or 0)
  return { ready, scheduled, size("b"), size("h"), size("l") + size("L"), due < math.huge and text_of(due) or "0" }
end

local function add_target(add, targets, name)
  local target = redis.call("HGET", targets, "q:" .. name)
  if target then
    add("target", { target, redis.call("HGET", targets, "t:" .. target) or "", redis.call("HGET", targets, "b:" .. target) or "" })
  end
end

-- Until when a request waits that takes jobs of a type, as far as it is known; as in lease_requests.last_request_ms.
local function waits_until_ms(waiting, name, type)
  local times = redis.call("HMGET", waiting, name, notify.flag_of(name, type))
  return text_of(math.max(tonumber(times[1] or 0), tonumber(times[2] or 0)))
end

-- The newest requests, one for each queue: name, time, worker.
local function recent_requests(requested)
  local requesters, requests, seen = lease_requests.requesters_key(), {}, {}
  local recent = redis.call("ZREVRANGEBYSCORE", requested, "+inf", "-inf", "WITHSCORES", "LIMIT", 0, MOST_READ)
  for i = 1, #recent, 2 do
    local name = lease_requests.queue_of(recent[i])
    if not seen[name] and #requests < 3 * MOST_SHOWN then
      seen[name] = true
      requests[#requests + 1], requests[#requests + 2] = name, recent[i + 1]
      requests[#requests + 1] = redis.call("HGET", requesters, name) or ""
    end
  end
  return requests
end

local function add_requests(add, keys, name)
  add("last_request_ms", lease_requests.last_request_ms(keys.requested, name, notify.ANY))
  add("last_requester", redis.call("HGET", lease_requests.requesters_key(), name) or "")
  add("waits_until_ms", waits_until_ms(keys.waiting, name, notify.ANY))
  add("requests", recent_requests(keys.requested))
end

-- Whether the flag of a queue is one of requests for any type: unless the queue is ordered by type, those for some types set it too.
local ANY_TYPE_MS = 600000
local function is_flag_of_any_type(requested, name, number)
  return registry.is_by_type(number) or tonumber(redis.call("ZSCORE", requested, name) or 0) > now_floor - ANY_TYPE_MS
end

-- Requests that take jobs of a type, "" = none: when the last one was recorded, and until when one waits. keys: waiting, requested.
local function requests_for(keys, name, number, type)
  local waits = redis.call("HMGET", keys.waiting, name, notify.flag_of(name, type))
  local for_any = is_flag_of_any_type(keys.requested, name, number) and tonumber(waits[1] or 0) or 0
  return lease_requests.last_request_ms(keys.requested, name, type), text_of(math.max(for_any, tonumber(waits[2] or 0)))
end

-- Requests that take jobs of a type, and those that name types at all.
function add_type_requests(add, keys, name, number, type)
  local typed = notify.flag_of(name, notify.ANY)
  local last, waits_until = requests_for(keys, name, number, type)
  add("type_request_ms", last)
  add("type_waits_until_ms", waits_until)
  add("typed_request_ms", redis.call("ZSCORE", keys.requested, typed) or "0")
  add("typed_waits_until_ms", redis.call("HGET", keys.waiting, typed) or "0")
end

-- Types that are looked at: those whose jobs come first. There may be 10,000.
local MOST_TYPES = 64

-- Since when the first job of a type is ready, Unix ms.
local function first_since(list)
  local id = redis.call("ZRANGE", list, 0, 0)[1]
  redis.call("EXISTS", meta_key, id and extras_key(id) or list)
  return id and redis.call("HGET", extras_key(id), "since") or "0"
end

-- Types with ready jobs, each with: how many, since when the first one is ready, the last request that takes them, until when one waits. Jobs without a type
-- are told apart from others in a queue that is ordered by type, or that has simple jobs only.
local function types_of(keys, name, number, ready)
  local types, untyped = {}, ready
  local function add_type(type, count, since)
    local last, waits_until = requests_for(keys, name, number, type)
    for _, value in ipairs({ type, text_of(count), since, last, waits_until }) do
      types[#types + 1] = value
    end
  end
  if registry.is_by_type(number) then
    untyped = ready - (redis.call("HGET", queue_key("i", number), "typed") or 0)
    for _, type in ipairs(redis.call("ZRANGE", type_keys.directory_key(number), 0, MOST_TYPES - 1)) do
      local list = type_keys.list_key(number, type)
      redis.call("EXISTS", meta_key, list)
      add_type(type, redis.call("ZCARD", list), first_since(list))
    end
  end
  if untyped > 0 and (registry.is_by_type(number) or not registry.is_extended_queue[name]) then
    add_type("", untyped, "0")
  end
  return types
end

-- Ready jobs of fair keys that are paused.
local function ready_of_paused_keys(number)
  local count, pauses = 0, settings.settings_of(number).pauses
  for key in pairs(pauses and pauses.f or {}) do
    local list = fair_keys.fair_list_key(number, fair_keys.list_name_of(key))
    redis.call("EXISTS", meta_key, list)
    count = count + redis.call("ZCARD", list)
  end
  return count
end

-- Of the lists by type, and of those of fair keys that are paused. keys: waiting, requested.
function add_types(add, keys, name, number)
  redis.call("EXISTS", meta_key, type_keys.directory_key(number))
  add("by_type", registry.is_by_type(number) and "1" or "0")
  add("types", types_of(keys, name, number, counts_of(number)[1]))
  add("types_count", redis.call("ZCARD", type_keys.directory_key(number)))
  add("ready_of_paused_keys", ready_of_paused_keys(number))
end

-- add: takes a name and a value. keys: waiting, targets, requested. number: nil = there is no such queue.
function add_queue_facts(add, name, number, keys)
  redis.call("EXISTS", meta_key, keys.waiting, keys.targets, keys.requested, lease_requests.requesters_key())
  add("full", store_room.is_store_full() and "1" or "0")
  if number then
    local set = settings.settings_of(number)
    redis.call("EXISTS", meta_key, queue_key("o", number))
    add("settings", redis.call("HGETALL", queue_key("o", number)))
    add("counts", counts_of(number))
    if set.rate then
      add("rate_ms", rates.allowance(set.rate, set.tat) < 1 and text_of(rates.allowed_at(set.rate, set.tat, 1)) or "0")
    end
  end
  add("leased_lately", { pace.leased_lately(name) })
  add_requests(add, keys, name)
  add_target(add, keys.targets, name)
end
