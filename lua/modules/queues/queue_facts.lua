-- What decides whether the jobs of a queue run: its settings, its push target, and who sends lease requests for it.
--- @requires core/call, queues/lease_requests, extended/settings, limits/rates
--- @exports add_queue_facts

-- Of the lease requests of the namespace.
local MOST_SHOWN = 20

-- add: takes a name and a value. keys: waiting, targets, requested. number: nil = there is no such queue.
function add_queue_facts(add, name, number, keys)
  redis.call("EXISTS", meta_key, keys.waiting, keys.targets, keys.requested, lease_requests.requesters_key())
  if number then
    redis.call("EXISTS", meta_key, queue_key("o", number), queue_key("l", number), queue_key("L", number))
    local set = settings.settings_of(number)
    add("settings", redis.call("HGETALL", queue_key("o", number)))
    add("running", text_of(redis.call("ZCARD", queue_key("l", number)) + redis.call("ZCARD", queue_key("L", number))))
    if set.rate then
      add("rate_ms", rates.allowance(set.rate, set.tat) < 1 and text_of(rates.allowed_at(set.rate, set.tat, 1)) or "0")
    end
  end
  add("last_request_ms", redis.call("ZSCORE", keys.requested, name) or "0")
  add("last_requester", redis.call("HGET", lease_requests.requesters_key(), name) or "")
  add("waits_until_ms", redis.call("HGET", keys.waiting, name) or "0")
  local recent = redis.call("ZREVRANGEBYSCORE", keys.requested, "+inf", "-inf", "WITHSCORES", "LIMIT", 0, MOST_SHOWN)
  local requests = {}
  for i = 1, #recent, 2 do
    requests[#requests + 1], requests[#requests + 2] = recent[i], recent[i + 1]
    requests[#requests + 1] = redis.call("HGET", lease_requests.requesters_key(), recent[i]) or ""
  end
  add("requests", requests)
  local target = redis.call("HGET", keys.targets, "q:" .. name)
  if target then
    add("target", { target, redis.call("HGET", keys.targets, "t:" .. target) or "", redis.call("HGET", keys.targets, "b:" .. target) or "" })
  end
end
