-- What decides whether the jobs of a queue run: its settings and counts, its push target, who sends lease requests for it, and whether Redis is full.
--- @requires core/call, queues/lease_requests, queues/pace, extended/settings, limits/rates, limits/store_room
--- @exports add_queue_facts

-- Of the lease requests of the namespace.
local MOST_SHOWN = 20

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
  local info = redis.call("HMGET", keys.i, "blanks", "far")
  local ready = redis.call("LLEN", keys.r) - redis.call("SCARD", keys.g) - (info[1] or 0) + size("p")
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

local function add_requests(add, keys, name)
  local requesters = lease_requests.requesters_key()
  add("last_request_ms", redis.call("ZSCORE", keys.requested, name) or "0")
  add("last_requester", redis.call("HGET", requesters, name) or "")
  add("waits_until_ms", redis.call("HGET", keys.waiting, name) or "0")
  local recent = redis.call("ZREVRANGEBYSCORE", keys.requested, "+inf", "-inf", "WITHSCORES", "LIMIT", 0, MOST_SHOWN)
  local requests = {}
  for i = 1, #recent, 2 do
    requests[#requests + 1], requests[#requests + 2] = recent[i], recent[i + 1]
    requests[#requests + 1] = redis.call("HGET", requesters, recent[i]) or ""
  end
  add("requests", requests)
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
