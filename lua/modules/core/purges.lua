-- When a namespace was purged last: what servers counted before that must not come back. The key is in the namespace's slot, but outside of
-- its names, and goes by a TTL.
--- @requires core/call
--- @exports purge_key, remember_purge, is_from_before_purge

-- Nothing that is older than this is written.
local KEPT_MS = 86400000

-- The text before the hash tag is the prefix of the pool.
function purge_key()
  return (string.gsub(base, "{", "pumphouse:purged:{", 1))
end

function remember_purge()
  redis.call("SET", purge_key(), text_of(now_floor), "PX", KEPT_MS)
end

-- since_ms: the time of the first thing that is to be written, Unix ms.
function is_from_before_purge(since_ms)
  return since_ms <= math.max(now_floor - KEPT_MS, tonumber(redis.call("GET", purge_key()) or 0))
end
