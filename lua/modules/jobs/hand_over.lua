-- Leases of simple jobs that ended, and that only the extended path can handle (ADR 32): expired leases of the native API, whose jobs wait for their next
-- attempt and keep their failure; and all of a queue whose settings say when or where an expired lease goes back, or how many jobs may run: there a
-- slot that gets free lets another job start. They become leased jobs of the extended path, and its timer is set: what becomes of them is decided
-- there (commands/extended/run_timers).
--- @requires core/call, core/header, queues/registry
--- @exports has_lease_settings, plan_hand_over, write_hand_over

-- Queue number -> true if its settings, or those of the namespace, concern leases that end.
local concerned = {}
local namespace_grace
function has_lease_settings(number)
  if concerned[number] == nil then
    local found = redis.call("HMGET", queue_key("o", number), "grace", "front", "max")
    namespace_grace = namespace_grace or redis.call("HGET", namespace_key("settings"), "lease_grace_ms") or "0"
    concerned[number] = (found[1] or found[2] or --[[ guard: limited-queue-is-extended ]] found[3] or --[[ guard: namespace-grace-holds-for-simple-jobs ]] namespace_grace ~= "0") and true or false
  end
  return concerned[number]
end

local handed = {}

-- Plans it for a leased job, and touches the keys that write_hand_over writes.
function plan_hand_over(id, value, number, name)
  local job = unpack_job(value)
  local leases, timers = queue_key("L", number), namespace_key("timers")
  redis.call("EXISTS", meta_key, queues_key, timers, leases, extras_key(id), namespace_key("expiring"))
  local ends = redis.call("ZSCORE", queue_key("l", number), id)
  local total = job.tries + job.attempts - job.free_retries
  local published = redis.call("HGET", extras_key(id), "put") or publish_time_of_lease(job)
  job.flags = job.flags - job.flags % 4 + HAS_EXTRAS + EXTENDED
  handed[#handed + 1] = { id = id, job = job, number = number, name = name, leases = leases, ends = ends, total = total, published = published }
end

-- Returns whether there is any.
function write_hand_over(due)
  local timers, expiring = namespace_key("timers"), namespace_key("expiring")
  for _, one in ipairs(handed) do
    local id, job = one.id, one.job
    write_job(id, job)
    -- guard: hand-over-keeps-tries
    redis.call("HSET", extras_key(id), "tries", one.total, unpack(one.published and { "put", one.published } or {}))
    redis.call("ZADD", one.leases, --[[ guard: handed-over-with-the-end ]] one.ends, id)
    redis.call("ZADD", timers, "LT", one.ends, "L" .. one.number)
    if job.expires > 0 then
      redis.call("ZADD", expiring, text_of(job.expires), id)
      -- guard: hand-over-keeps-expiry
      redis.call("ZADD", timers, "LT", text_of(job.expires), "E")
    end
    redis.call("HSET", queues_key, one.name, -one.number)
  end
  if #handed > 0 then
    redis.call("ZADD", due, "LT", text_of(now_floor), EXTENDED_TIMERS)
  end
  return #handed > 0
end
