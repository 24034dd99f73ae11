-- The push targets of a namespace: one hash, and a log of which of its fields changed when. They need no marker of the namespace, and outlive it.
-- What the fields mean: src/engine/queues/targets.ts. Two changes of different fields never conflict, and a server reads only what has changed.
--- @requires core/call
--- @exports start_targets, field_of, set_field, has_log, write_version

-- Changed fields that the log keeps: more than a server reads one by one (`most` of targets/read). So one that has missed older ones reads the hash.
local MOST_LOGGED = 4096

local targets, log = nil, nil
local changed = {}

-- Keys of the hash and of the log.
function start_targets(targets_key, log_key)
  targets, log = targets_key, log_key
  redis.call("EXISTS", meta_key, targets, log)
end

-- false = there is none.
function field_of(name)
  return redis.call("HGET", targets, name)
end

-- value: "" = remove it.
function set_field(name, value)
  changed[#changed + 1] = name
  if value == "" then
    redis.call("HDEL", targets, name)
  else
    redis.call("HSET", targets, name, value)
  end
end

-- Whether the log has the last change. It has not if a server of an earlier version has made it, or if the hash was copied without its log.
function has_log(version)
  return tonumber(redis.call("ZSCORE", log, "v") or 0) == version
end

-- Numbers the change of all fields that were set, and logs them.
function write_version()
  if #changed == 0 then
    return
  end
  local last = tonumber(field_of("v") or 0)
  -- Not from 1: servers must not take a namespace that was purged and made anew for the one that they know.
  local version = --[[ guard: target-versions-after-a-purge ]] math.max(last + 1, now_floor)
  local is_logged = last > 0 and --[[ guard: unlogged-target-change-ends-log ]] has_log(last)
  for _, name in ipairs(changed) do
    redis.call("ZADD", log, text_of(version), name)
  end
  redis.call("ZADD", log, text_of(version), "v")
  local excess = redis.call("ZCARD", log) - MOST_LOGGED
  if not is_logged then
    redis.call("HSET", targets, "a", text_of(last > 0 and last or version))
    redis.call("ZREMRANGEBYSCORE", log, "-inf", "(" .. text_of(version))
  elseif excess > 0 then
    redis.call("ZREMRANGEBYRANK", log, 0, excess - 1)
  end
  redis.call("HSET", targets, "v", text_of(version))
end
