-- Jobs of a target with several origins: while the circuit breaker of a job's origin is open it is held, so that none is leased in vain. Then one is
-- called, and all others when the breaker is closed (timers/push_origins). Origin "": the target's own URL, of jobs that name none.
--- @requires core/call, core/header, core/plan, queues/registry, queues/publish_order, extended/jobs, extended/timeline, extended/moves
--- @requires extended/conversion, extended/own_url, limits/concurrency_keys, targets/breakers
--- @exports origin_room, closed_origin_of, hold_for_origin

-- How soon the breaker is looked at again, ms.
local LOOK_AGAIN_MS = 2000

local function breaker_of(number, origin)
  local targets = touch(namespace_key("targets"))
  local target = redis.call("HGET", targets, "q:" .. registry.name_of(number))
  local field = target and "b:" .. target .. (origin == "" and "" or " " .. origin)
  local text = field and redis.call("HGET", targets, field)
  local stored = text and redis.call("HGET", targets, "t:" .. target)
  return stored and cjson.decode(text), stored and cjson.decode(stored).target, field
end

-- Until the server that leases it has taken the right to try (targets/change_breaker), no other one leases a second job.
local function mark_leased(breaker, field)
  local text = breakers.breaker_text(breaker.openUntilMs, breaker.openings, breaker.probeUntilMs, breaker.lastAnswer, now_floor + LOOK_AGAIN_MS)
  write("HSET", namespace_key("targets"), field, text)
end

-- How many jobs of an origin may be leased from a queue: all, one that tries it, or none.
local rooms, by_name = {}, {}
function origin_room(number, origin)
  local name = number .. " " .. origin
  if not rooms[name] then
    local breaker, target, field = breaker_of(number, origin)
    local settings = target and target.breakerSettings or {}
    if not breaker or settings == cjson.null then
      rooms[name] = math.huge
    elseif
      breakers.is_past(breaker.openUntilMs, now_floor, settings.maxOpenMs or 300000)
      and breakers.is_past(breaker.probeUntilMs, now_floor, (target.timeoutMs or 0) + 5000)
      and --[[ guard: one-job-tries-an-origin ]] breakers.is_past(breaker.leasedUntilMs or 0, now_floor, LOOK_AGAIN_MS)
    then
      rooms[name], by_name[name] = 1, { breaker, field }
    else
      rooms[name] = 0
    end
  end
  return rooms[name]
end

local function origin_of(job)
  -- A job with a URL of its own has a key, too.
  local url = job.x.ckey and own_url.own_url_of(job)
  return url and string.match(url, "^(%a+://[^/?#]+)")
end

-- The origin for which a job is to be held; nil = it may be leased, and counts as leased. is_pushed: jobs without a URL go to that of the target.
function closed_origin_of(job, is_pushed)
  local origin = origin_of(job) or is_pushed and ""
  if not origin then
    return nil
  elseif --[[ guard: origin-open-leases-none ]] origin_room(job.queue, origin) < 1 then
    return origin
  end
  local name = job.queue .. " " .. origin
  if rooms[name] == 1 then
    mark_leased(unpack(by_name[name]))
  end
  rooms[name] = rooms[name] - 1
end

-- It keeps its place among the held jobs of its origin, which are called in the order in which they were held.
function hold_for_origin(job, origin, place)
  conversion.make_extended(job)
  moves.leave(job)
  jobs.put(job, "place", place)
  jobs.put(job, "hold", origin)
  local key = concurrency_keys.holding_key_of(job)
  key.held = key.held + 1
  moves.go(job, HELD, publish_order.published_at(job))
  add_member(key.held_key, job.x.place, job.id)
  timeline.log_event("held", job)
  set_timer("B" .. key.name, now_floor + LOOK_AGAIN_MS)
end
