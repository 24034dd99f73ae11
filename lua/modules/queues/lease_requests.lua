-- When lease requests last named each queue. A hint to say why a job does not run: it is written every ten seconds at most, and has a Redis TTL.
--- @requires core/call, queues/notify
--- @exports requesters_key, queue_of, record_lease_request, last_request_ms

-- Members of `requested`, named as the flags of requests that wait (queues/notify). Those that were named last are remembered.
local MOST = 10000
local KEEP_MS = 86400000

-- Hash: queue -> the worker of its last lease request that had a name.
function requesters_key()
  return namespace_key("requesters")
end

function queue_of(flag)
  return string.match(flag, "^[^ ]+")
end

-- flag: as requests that wait are registered (queues/notify): a queue, or a queue and a type.
function record_lease_request(requested, flag, worker)
  redis.call("ZADD", requested, text_of(now_floor), flag)
  if worker ~= "" then
    redis.call("HSET", requesters_key(), queue_of(flag), worker)
  end
  local over = redis.call("ZCARD", requested) - MOST
  if --[[ guard: lease-requests-bounded ]] over > 0 then
    local oldest = redis.call("ZRANGE", requested, 0, over - 1)
    redis.call("ZREM", requested, unpack(oldest))
    redis.call("HDEL", requesters_key(), unpack(oldest))
  end
  redis.call("PEXPIRE", requested, KEEP_MS)
  redis.call("PEXPIRE", requesters_key(), KEEP_MS)
end

-- When a request that takes jobs of a type was recorded last, "0" = none is known. type: "" = none; notify.ANY: of whatever type.
function last_request_ms(requested, queue, type)
  local for_any, for_type = redis.call("ZSCORE", requested, queue), redis.call("ZSCORE", requested, notify.flag_of(queue, type))
  return text_of(math.max(tonumber(for_any or 0), tonumber(for_type or 0)))
end
