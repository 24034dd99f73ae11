-- How many jobs a queue gives before one of its ready jobs.
--- @requires core/call, core/header, queues/job_counts, queues/publish_order, queues/registry, queues/type_keys, queues/fair_keys
--- @requires queues/fair_lists, queues/ranks, extended/jobs, extended/settings
--- @exports jobs_in_front, keys_in_front

-- Entries of the ready list in a step.
local STEP = 250

-- Entries of the ready list that count no more, as a set; nil = there are too many, or a ready job may have expired: then each job must be read.
local MOST_STALE = 1000
local function stale_entries(number)
  local key, expiries = queue_key("g", number), namespace_key("expiries")
  redis.call("EXISTS", meta_key, key, expiries)
  if redis.call("SCARD", key) > MOST_STALE or tonumber(redis.call("ZSCORE", expiries, number) or math.huge) <= now_floor then
    return nil
  end
  local stale = { [""] = true }
  for _, entry in ipairs(redis.call("SMEMBERS", key)) do
    stale[entry] = true
  end
  return stale
end

local function counts(stale, entry, id, number)
  if stale then
    return not stale[entry]
  end
  local job = entry ~= "" and read_job(id)
  return is_live_entry(job, entry, number) and not is_expired(job)
end

-- Live entries of the ready list before the first for which is_end says so; at most so many. Returns their number, and whether it is exact.
local function count_in_list(number, most, is_end)
  local count, at, stale = 0, 0, stale_entries(number)
  while count < most do
    local entries = redis.call("LRANGE", queue_key("r", number), at, at + STEP - 1)
    for _, entry in ipairs(entries) do
      local id = string.sub(entry, 1, -2)
      if counts(stale, entry, id, number) then
        if is_end(id) then
          return count, true
        end
        count = count + 1
      end
    end
    if #entries < STEP then
      return count, true
    end
    at = at + STEP
    if at >= 2 * most then
      break
    end
  end
  return count, false
end

-- Jobs of a list that are read, at most: all that is needed of each is when it was published.
local MOST_READ = 500

-- Whether another job was published before the job; nil = there is no such job.
local function is_older(id, job)
  local published, own = redis.call("HGET", extras_key(id), "put"), publish_order.published_at(job)
  if not published then
    redis.call("EXISTS", meta_key, job_key(id), extras_key(id))
    local other = read_job(id)
    published = other and (publish_time(id, other) or now_floor)
  end
  local at = published and tonumber(published)
  return at and (at < own or at == own and ranks.is_behind(job.id, id))
end

-- Ready jobs that kept their place in time when their priority changed to 0: those that were published before the job.
local function count_kept(job, most)
  local count, kept = 0, redis.call("ZRANGEBYSCORE", queue_key("p", job.queue), "0", "(" .. text_of(PLACES), "LIMIT", 0, most)
  for _, id in ipairs(kept) do
    count = count + (id ~= job.id and is_older(id, job) and 1 or 0)
  end
  return count, #kept < most
end

-- In a list of its type (queues/type_lists): jobs of other types do not delay it. Those without a type share the queue with simple jobs.
local function front_in_type_list(job)
  local list, simple, first = type_keys.list_key(job.queue, job.x.type), queue_key("r", job.queue), text_of(job.priority * PLACES)
  redis.call("EXISTS", meta_key, list, simple)
  local urgent = redis.call("ZCOUNT", list, "-inf", "(" .. first)
  local older = (redis.call("ZRANK", list, job.id) or urgent) - urgent
  return urgent, older, job.x.type ~= nil or redis.call("EXISTS", simple) == 0, job.x.type ~= nil
end

-- In the list of its fair key (queues/fair_lists): jobs of other keys do not delay it but by their turns.
local function front_in_fair_list(job)
  local list, first = fair_keys.fair_list_key(job.queue, fair_keys.list_name_of(fair_keys.fair_key_of(job))), text_of(job.priority * PLACES)
  local urgent = redis.call("ZCOUNT", list, "-inf", "(" .. first)
  return urgent, redis.call("ZRANK", list, job.id) - urgent, true, false
end

-- How many fair keys of its queue that are not paused have an earlier turn than a ready job; and its own fair key, "" = it has none.
function keys_in_front(job)
  local facts, key = redis.call("HMGET", queue_key("i", job.queue), "served_turn", "common_turn"), fair_keys.fair_key_of(job)
  local turns = fair_keys.turns_key(job.queue)
  local turn = key and redis.call("ZSCORE", turns, fair_keys.list_name_of(key)) or text_of(math.max(tonumber(facts[1] or 0), tonumber(facts[2] or 0)))
  local count, paused = redis.call("ZCOUNT", turns, "-inf", "(" .. turn), settings.settings_of(job.queue).pauses
  for other in pairs(paused and paused.f or {}) do
    local its = tonumber(redis.call("ZSCORE", turns, fair_keys.list_name_of(other)) or nil)
    -- guard: paused-keys-have-no-turn
    count = count - (its and its < tonumber(turn) and 1 or 0)
  end
  return count, key or ""
end

-- job: a ready one, as extended/jobs has it. Returns how many there are of a priority that goes first, how many of its own that are older, and whether
-- that is exact: jobs are counted up to `most`; and whether only jobs of its type are counted.
function jobs_in_front(job, most)
  if job.entry == type_keys.LISTED and fair_lists.score_in_fair_list(job) then
    return front_in_fair_list(job)
  elseif job.entry == type_keys.LISTED then
    return front_in_type_list(job)
  end
  local ranked = queue_key("p", job.queue)
  redis.call("EXISTS", meta_key, queue_key("r", job.queue), ranked)
  if job.priority ~= 0 then
    local first = text_of(job.priority * PLACES)
    local urgent = redis.call("ZCOUNT", ranked, "-inf", "(" .. first)
    -- Jobs of one score are ordered by id.
    local older = (redis.call("ZRANK", ranked, job.id) or urgent) - urgent
    return urgent + (job.priority > 0 and math.max(job_counts.count_jobs(job.queue, ""), 0) or 0), older, true
  end
  local urgent = redis.call("ZCOUNT", ranked, "-inf", "(0")
  local is_kept = redis.call("ZSCORE", ranked, job.id)
  local most_read = --[[ guard: explain-reads-some-jobs ]] math.min(most, MOST_READ)
  local listed, is_exact = count_in_list(job.queue, is_kept and most_read or most, function(id)
    if not is_kept then
      return id == job.id
    end
    return is_older(id, job) == false
  end)
  local kept, is_all = count_kept(job, most_read)
  -- Jobs in lists of types are not counted.
  return urgent, listed + kept, is_exact and is_all and not registry.is_by_type(job.queue)
end
