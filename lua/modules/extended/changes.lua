-- Changes of a job that waits: its data, due time, place and dependencies; and entries in the timeline of any job.
--- @requires core/call, core/header, core/plan, queues/registry, queues/publish_order, extended/jobs, extended/settings, extended/timeline, extended/indexes
--- @requires extended/moves, extended/conversion, extended/dependencies, extended/dependency_cycles, extended/own_url, limits/concurrency_keys, limits/queue_settings
--- @requires limits/slots, limits/queue_room
--- @exports change

-- The tries that a job has used: its leases, but for those that were not charged.
local function used_tries(job)
  return math.max(job.attempts - job.free_retries, 0)
end

-- Changes fields of a job that do not move it. ttl_ms: from now, 0 = it never expires; tags: JSON, "" = none; tries: in all; retry: JSON.
local function alter(job, wish, bytes)
  if wish.ttl_ms then
    jobs.set_ttl(job, wish.ttl_ms)
  end
  if wish.tags then
    jobs.put(job, "tags", wish.tags ~= "" and wish.tags or nil)
  end
  if wish.tries then
    jobs.will_change(job).tries = wish.tries - used_tries(job)
    jobs.put(job, "tries", wish.tries)
  end
  for _, field in ipairs({ "type", "retry" }) do
    if wish[field] then
      jobs.put(job, field, wish[field])
    end
  end
  if wish.has_data then
    jobs.replace_typed_body(job, bytes, wish.ctype, true)
  end
end

-- When a job is due, as far as it is known. Returns nil for a simple job that is scheduled far ahead (only the list of its slot has the time)
-- and for one whose place is the end of its ttl because it expired before it was due when it was simple.
local function due_of(job)
  if job.state ~= SCHEDULED then
    return tonumber(job.x.due or 0)
  end
  local at = tonumber(redis.call("ZSCORE", queue_key(indexes.kind_of(job), job.queue), job.id) or nil)
  return at and --[[ guard: converted-due-time-is-unknown ]] at ~= job.expires and at or nil
end

-- Puts a job that left its place because of a change into the index where it belongs now. at: when it is due; was: its state before.
local function place_anew(job, at, was)
  if job.x.waits and dependencies.is_waiting(job) then
    jobs.put(job, "due", at > now_floor and at or nil)
    dependencies.block(job)
  elseif at > now_floor then
    jobs.put(job, "due", at)
    moves.go(job, SCHEDULED, at)
  else
    jobs.put(job, "due", nil)
    jobs.put(job, "aside", job.stand and job.priority == 0 and "1" or nil)
    moves.go(job, READY)
  end
  if job.state ~= was and job.state ~= HELD then
    timeline.log_event(job.state == READY and "ready" or job.state == SCHEDULED and "scheduled" or "blocked", job)
  end
end

-- Keeps the order among jobs that a concurrency key holds, when a job changes its priority or its place. A held job moves by its new priority. One that
-- goes elsewhere starts at the end there; one that has a slot keeps it.
local function keep_order(job, priority, stays, slot)
  local has_new_order = priority ~= job.priority and not settings.settings_of(job.queue).strict
  if job.x.ckey and has_new_order then
    local key = concurrency_keys.concurrency_key_of(job)
    -- guard: changed-priority-takes-ready-slot
    key.is_reordered, slots.freed_keys[key.name] = true, key
  end
  if not stays and not job.stand then
    jobs.put(job, "place", nil)
  elseif job.x.place and has_new_order then
    jobs.put(job, "place", text_of(tonumber(job.x.place) + (priority - job.priority) * PLACES))
    if job.state == HELD then
      local key = concurrency_keys.holding_key_of(job)
      add_member(key.held_key, job.x.place, job.id)
      key.newly[#key.newly + 1] = job
    end
  end
  if slot then
    concurrency_keys.take_slot(job, slot)
  end
end

-- The changed fields by their names in the native API; and the queues, if the job moves to another one.
local function changes_of(job, wish, number, priority, ties)
  local facts, fields = { operation = wish.operation }, {}
  local function add_field(name, is_changed)
    fields[#fields + 1] = is_changed and name or nil
  end
  if number ~= job.queue then
    facts.queue, facts.from = wish.queue, registry.name_of(job.queue)
  end
  add_field("queue", number ~= job.queue)
  add_field("priority", priority ~= job.priority)
  add_field("tags", wish.tags and wish.tags ~= (job.x.tags or ""))
  add_field("tries", wish.tries and wish.tries ~= conversion.total_tries(job))
  add_field("type", wish.type and wish.type ~= job.x.type)
  add_field("retry", wish.retry and wish.retry ~= job.x.retry)
  add_field("data", wish.has_data)
  add_field("due_at", wish.due_ms)
  add_field("delay_ms", wish.delay_ms)
  add_field("ttl_ms", wish.ttl_ms)
  add_field("depends_on", ties)
  facts.fields = #fields > 0 and fields or nil
  return facts
end

local function may_stay(job, wish, at, number, waits)
  if job.state == READY then
    return not waits and number == job.queue and (not (wish.due_ms or wish.delay_ms) or at <= now_floor)
  end
  return job.state ~= BLOCKED and number == job.queue and not wish.due_ms and not wish.delay_ms and (not waits or not at)
end

-- Applies a change to a job, when all checks have passed. at: when it is due, nil = not known.
local function move(job, wish, at, outcome, bytes, ties)
  local was, number, priority = job.state, wish.queue and registry.number_of(wish.queue) or job.queue, wish.priority or job.priority
  local waits = job.x.waits and dependencies.is_waiting(job)
  local stays = not outcome and may_stay(job, wish, at, number, waits)
  local has_new_list = priority ~= job.priority or wish.type and wish.type ~= job.x.type and registry.is_by_type(job.queue)
  local stand
  if stays and was == READY and has_new_list then
    stays, stand = false, publish_order.rank_of(job, priority, wish.type or job.x.type)
  end
  local slot, changes = stand and tonumber(job.x.slot), changes_of(job, wish, number, priority, ties)
  if not stays then
    moves.leave(job)
    job.stand = stand
  end
  alter(job, wish, bytes)
  conversion.make_extended(job, not stays)
  if outcome then
    dependencies.fail_dependent(job, outcome)
    return 1
  elseif job.x.waits and not waits then
    dependencies.forget_needs(job)
  end
  keep_order(job, priority, stays, slot)
  job.queue, job.priority = number, priority
  if wish.queue then
    queue_room.count_move(wish.queue)
    registry.queue_names[number] = wish.queue
    -- guard: move-begins-no-drain
    queue_settings.let_in(number)
    conversion.make_queue_extended(number, wish.queue)
  end
  timeline.log_event("changed", job, changes)
  if not stays then
    place_anew(job, at, was)
  end
  return 1
end

-- Changes a job if that is allowed; returns the code of the command extended/change, and with 6, 10 and 11 how much there is. lacks: there is no job for one of
-- the ids in more.
local WAITING = { [READY] = true, [SCHEDULED] = true, [BLOCKED] = true, [HELD] = true }
function change(job, wish, bytes, more, less, lacks)
  if not job or is_expired(job) then
    return 0
  elseif wish.log then
    conversion.make_extended(job)
    -- guard: log-event-names-worker
    wish.log.worker = timeline.worker_facts(job).worker
    timeline.log_event("log", job, wish.log)
    return 1
  elseif (wish.has_data or wish.queue) and --[[ guard: job-push-url-changed ]] own_url.lacks_push(job, wish) then
    return 8
  elseif not WAITING[job.state] then
    return 2
  --[[ guard: tries-above-attempts ]] elseif wish.tries and wish.tries <= used_tries(job) then
    return 6, used_tries(job)
  end
  local refusal = dependency_cycles.why_not(job, more, not wish.only and less or nil, wish.queue)
  local at = wish.due_ms or wish.delay_ms and (wish.delay_ms > 0 and now_ceil + wish.delay_ms or 0) or due_of(job)
  if refusal then
    return refusal == "dependency_cycle" and 3 or 4
  elseif lacks and --[[ guard: missing-dependency-refuses-change ]] wish.refuse_missing then
    return 9
  elseif not at and (wish.queue or wish.ttl_ms and job.expires > 0) then
    return 5
  end
  if wish.queue then
    local no_room, present = queue_room.refused_move(job, wish.queue, wish)
    if no_room then
      return no_room == "queue_full" and 11 or 10, present
    end
  end
  job.due_at = at
  return move(job, wish, at, dependencies.retie(job, wish, more, less), bytes, wish.only or #more + #less > 0)
end
