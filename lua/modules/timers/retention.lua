-- Timers of what is kept for a limited time: ended jobs, workers that were not seen, tracked jobs that have ended.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, extended/endings, extended/indexes, extended/moves, extended/readers, limits/retention, queues/sessions, timers/steps
--- @exports forget_kept, forget_workers, forget_traces

local function is_kept(job)
  return job and not job.is_gone and (job.state == DONE or job.state == CANCELLED)
end

local function forget(job)
  moves.leave(job)
  moves.vanish(job)
end

-- When to look at a kept job again; nil = it is kept no longer.
local function look_again_at(job)
  local ends = tonumber(job.x.ended or 0) + tonumber(job.x.keep or 0)
  if ends > now_floor then
    return ends
  end
  local is_needed, is_again = readers.is_needed(job)
  -- guard: needed-result-outlives-retention
  return is_needed and now_floor + (is_again and 0 or readers.CHECK_AGAIN_MS) or nil
end

local function forget_aged(what)
  for _, id in ipairs(steps.due_in(namespace_key("keeping"), what)) do
    local job = jobs.job_of(id)
    local at = is_kept(job) and look_again_at(job)
    remove_member(namespace_key("keeping"), id)
    if at then
      add_member(namespace_key("keeping"), text_of(at), id)
      set_timer("Z" .. job.queue, now_floor) -- It may count among too many from now on.
    elseif is_kept(job) then
      forget(job)
    end
  end
end

-- The ids of those that ended first behind a time, done and cancelled ones together: the scores of the latter are below zero. All that ended at the time of
-- the last one are among them, so that the next step can go on behind it. Also returns that time.
local function first_ended(key, behind, count)
  local done = redis.call("ZRANGEBYSCORE", key, behind and "(" .. behind or 0, "+inf", "WITHSCORES", "LIMIT", 0, count)
  local cancelled = --[[ guard: oldest-cancelled-jobs-go-first ]] redis.call("ZREVRANGEBYSCORE", key, "(" .. (behind and "-" .. behind or 0), "-inf", "WITHSCORES", "LIMIT", 0, count)
  local ids, d, c, last = {}, 1, 1, nil
  while #ids < count and (done[d] or cancelled[c]) do
    if not cancelled[c] or done[d] and --[[ guard: retention-one-order ]] tonumber(done[d + 1]) <= -tonumber(cancelled[c + 1]) then
      ids[#ids + 1], last, d = done[d], tonumber(done[d + 1]), d + 2
    else
      ids[#ids + 1], last, c = cancelled[c], -tonumber(cancelled[c + 1]), c + 2
    end
  end
  if last then
    local known = {}
    for _, id in ipairs(ids) do
      known[id] = true
    end
    for _, score in ipairs({ last, -last }) do
      for _, id in ipairs(redis.call("ZRANGEBYSCORE", key, text_of(score), text_of(score))) do
        ids[#ids + 1] = not known[id] and id or nil
      end
    end
  end
  return ids, last
end

-- The timer stays until no more are left than allowed, but for those that dependents need: the next step goes on behind them. kept_to: the time when the
-- last one ended that this walk has looked at, and how many of them are needed.
local function forget_too_many(what, number)
  local key, info, most = queue_key("z", number), queue_key("i", number), retention.most_kept_in(number)
  local behind, needed = string.match(redis.call("HGET", touch(info), "kept_to") or "", "^(%d+) (%d+)$")
  needed = tonumber(needed or 0)
  local too_many, ids, last = redis.call("ZCARD", touch(key)) - most - needed, {}, nil
  if too_many > 0 then
    ids, last = first_ended(key, behind, math.min(too_many, steps.steps_left))
  end
  for _, id in ipairs(ids) do
    steps.use_steps(1)
    local job = jobs.job_of(id)
    local is_here = is_kept(job) and job.queue == number
    -- guard: needed-result-outlives-count
    if is_here and readers.is_needed(job) then
      needed, too_many = needed + 1, too_many - 1
    elseif too_many > 0 then
      too_many = too_many - 1
      if is_here then
        forget(job)
      end
      remove_member(is_here and namespace_key("keeping") or key, id)
    end
  end
  plan.lasts[#plan.lasts + 1] = function()
    if #ids == 0 or redis.call("ZCARD", key) <= most + needed then
      redis.call("ZREM", steps.timers_key, what)
      redis.call("HDEL", info, "kept_to")
    elseif needed > 0 then
      redis.call("HSET", info, "kept_to", text_of(last) .. " " .. text_of(needed))
    end
  end
end

-- Ended jobs whose retention is over: by age, in one zset for the namespace, and by count, the oldest of a queue.
function forget_kept(number, what)
  local forget_some = number == "" and forget_aged or forget_too_many
  forget_some(what, tonumber(number))
end

-- key_of: the key of what there is of a member besides, also_in: the key of a zset that may have it, forget_also: forgets more of it; if there may be any.
local function forget_old(name, age_ms, what, key_of, also_in, forget_also)
  local key = namespace_key(name)
  local old = redis.call("ZRANGEBYSCORE", touch(key), "-inf", now_floor - age_ms, "LIMIT", 0, steps.steps_left)
  steps.use_steps(#old)
  for _, member in ipairs(old) do
    remove_member(key, member)
    if forget_also then
      forget_also(member)
    end
    if key_of then
      -- guard: session-ends-with-worker
      delete_key(key_of(member))
    end
    if also_in then
      remove_member(also_in, member)
    end
  end
  plan.lasts[#plan.lasts + 1] = function()
    local first = redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if first then
      redis.call("ZADD", steps.timers_key, text_of(first + age_ms), what)
    else
      redis.call("ZREM", steps.timers_key, what)
    end
  end
end

-- Workers that were not seen, and their sessions.
function forget_workers(_, what)
  forget_old("workers", settings.namespace_setting("max_worker_age_ms", 86400000), what, session_key, --[[ guard: forgotten-session-not-lost ]] touch(sessions.sessions_key()))
end

-- Tracked jobs that have ended.
function forget_traces(_, what)
  forget_old("traces", indexes.TRACE_AGE_MS, what, nil, nil, endings.forget_ending)
end
