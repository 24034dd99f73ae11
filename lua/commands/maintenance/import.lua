--[[
Store jobs that come from another store, with their ids and in the state in which they were there. Each has a name in that store, which is remembered:
it is stored once, even if it has been done since.

KEYS meta, queues, due, waiting, expiries, imported
ARGV clock_ms, deadline_ms, keep_ms
ITEM options, id, source, body
imported: set  the names of the jobs that were imported
keep_ms: text  how long the names are remembered, ms

Options: "state,tries,attempts,ttl_ms,at_ms,queue,attributes". At_ms: when it is due or its lease ends, Unix ms. Source: its name in the other store.
Returns {status, now_ms, codes}.
Codes: a digit per item: 0 stored, 1 it was imported before, 2 another queue has a job with this id (then nothing has changed for this item).
Cost: O(log N) per item.
]]

--- @adds
--- @requires core/call, core/header, core/values, queues/registry, queues/notify, queues/ready_list
--- @requires jobs/schedule, jobs/removal

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

if not registry.read_last_queue() then
  return { 2, now_floor }
end

local function read_arrival(text)
  local state, tries, attempts, ttl, at, queue, attributes = string.match(text, "^(%d+),(%d+),(%d+),(%d+),(%d+),([^,]*),(.*)$")
  local expires = tonumber(state) ~= DEAD and tonumber(ttl) > 0 and now_ceil + ttl or 0
  local job = {
    api = LMSTFY_API, state = tonumber(state), flags = attributes ~= "" and HAS_EXTRAS or 0, priority = 0, tries = tonumber(tries),
    attempts = tonumber(attempts), lease = tonumber(attempts), entry = 1, expires = expires, free_retries = 0,
  }
  at = expires > 0 and math.min(tonumber(at), expires) or tonumber(at)
  return { job = job, at = at, queue = queue, attributes = attributes }
end

-- expired: the job that has the id now, nil = none.
local function plan_arrival(arrival, id, body, expired)
  arrival.id, arrival.body, arrival.job.queue = id, body, registry.number_of(arrival.queue)
  if expired then
    removal.plan_removal(id, expired.state, expired.queue, expired.entry, expired.flags)
  end
  for _, kind in ipairs({ "r", "s", "l", "d", "f", "g", "i" }) do
    redis.call("EXISTS", extras_key(id), queue_key(kind, arrival.job.queue))
  end
end

local function write_arrival(arrival)
  local job, id, dead = arrival.job, arrival.id, queue_key("d", arrival.job.queue)
  if job.state == READY then
    ready_list.make_ready(job.queue, arrival.queue, id, job)
  elseif job.state == SCHEDULED then
    schedule.schedule_job(job.queue, id, arrival.at)
  elseif job.state == LEASED then
    redis.call("ZADD", queue_key("l", job.queue), text_of(arrival.at), id)
    redis.call("ZADD", due, "LT", text_of(arrival.at), job.queue)
  else -- Behind the jobs that died before, by a 64th of a millisecond: the time of death is not known, the order is.
    local last = tonumber(redis.call("ZRANGE", dead, -1, -1, "WITHSCORES")[2] or 0)
    redis.call("ZADD", dead, string.format("%.6f", math.max(now_ceil, --[[ guard: import-dead-order ]] last + 1 / 64)), id)
  end
  put_value(job_key(id), pack_job(job) .. arrival.body)
  if arrival.attributes ~= "" then
    redis.call("HSET", extras_key(id), "attributes", arrival.attributes)
  end
end

-- Read.
redis.call("EXISTS", due, expiries, imported)
local codes, plans, sources, seen = {}, {}, {}, {}
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local id, source = ARGV[i + 1], ARGV[i + 2]
  local arrival, n = read_arrival(ARGV[i]), #codes + 1
  local present = not seen[id] and read_job(id)
  if seen[source] or --[[ guard: import-knows-done ]] redis.call("SISMEMBER", imported, source) == 1 then
    codes[n] = 1
  elseif seen[id] then
    codes[n] = seen[id] == arrival.queue and 1 or 2
  elseif present and not is_expired(present) then
    -- guard: import-keeps-id
    codes[n] = present.queue == registry.find_queue(arrival.queue) and 1 or 2
  else
    codes[n], seen[source], seen[id] = 0, true, arrival.queue
    plan_arrival(arrival, id, ARGV[i + 3], present)
    plans[#plans + 1], sources[#sources + 1] = arrival, source
  end
end

-- Write.
removal.remove_planned()
registry.write_new_queues()
for _, arrival in ipairs(plans) do
  write_arrival(arrival)
end
schedule.write_schedule(due)
write_values()
ready_list.write_ready_lists("RPUSH", expiries)
if #sources > 0 then
  redis.call("SADD", imported, unpack(sources))
  redis.call("PEXPIRE", imported, keep_ms)
end
removal.return_freed_bytes()
return { 0, now_floor, table.concat(codes) }
