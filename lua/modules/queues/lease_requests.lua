-- When lease requests last named each queue. A hint to say why a job does not run: it is written every ten seconds at most, and has a Redis TTL.
--- @requires core/call
--- @exports requesters_key, record_lease_request

-- Queues of a namespace that are remembered: those that were named last.
local MOST = 10000
local KEEP_MS = 86400000

-- Hash: queue -> the worker of its last lease request that had a name.
function requesters_key()
  return namespace_key("requesters")
end

function record_lease_request(requested, queue, worker)
  redis.call("ZADD", requested, text_of(now_floor), queue)
  if worker ~= "" then
    redis.call("HSET", requesters_key(), queue, worker)
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
