-- The order of jobs by their publish time.
--- @requires core/call, core/header, queues/registry, queues/ranks, queues/type_keys, queues/fair_lists, extended/jobs
--- @exports published_at, came_before, was_ready_before, rank_of, first_listed, note_front, is_first_in_list

-- When a job was published, Unix ms. `put` has it for jobs that were published as extended ones, and for those with a chosen id.
function published_at(job)
  return tonumber(job.x.put) or publish_time(job.id, job) or now_floor
end

-- Which of two jobs was published first.
function came_before(one, other)
  local a, b = published_at(one), published_at(other)
  return a < b or a == b and ranks.is_behind(other.id, one.id)
end

-- Since when a job is ready, as far as it is known: of a simple job only the publish time is. An extended one that was ready at once has that time, too:
-- minted ids have the order of the jobs of a call, and `since` is the time of its script.
local function ready_since(job)
  local since = tonumber(job.x.since)
  local was_at_once = since == tonumber(job.x.put)
  return --[[ guard: one-call-keeps-its-order ]] was_at_once and publish_time(job.id, job) or since or published_at(job)
end

-- Which of two jobs is ready for longer.
function was_ready_before(one, other)
  local a, b = ready_since(one), ready_since(other)
  return a < b or a == b and ranks.is_behind(other.id, one.id)
end

-- The step of a job among those that are in a list, by publish time. Jobs with equal steps are ordered by id.
local function step_among(job, key, priority)
  local middle_score = (priority + 0.5) * PLACES
  local from, to = text_of(middle_score - PLACES / 2), "(" .. text_of(middle_score + PLACES / 2)
  local last = redis.call("ZREVRANGEBYSCORE", key, to, from, "WITHSCORES", "LIMIT", 0, 1)
  if not last[1] then
    return tonumber(redis.call("HGET", queue_key("i", job.queue), "back") or 0)
  end
  local function step_behind(other, score)
    -- Jobs with equal steps are ordered by id: minted ids by time, chosen ones before or behind them all.
    return score - middle_score + (ranks.is_behind(other.id, job.id) and 1 or 0)
  end
  -- Jobs that change together mostly come in their order: then the last one says it all.
  if came_before(jobs.job_of(last[1]), job) then
    return step_behind(jobs.job_of(last[1]), tonumber(last[2]))
  end
  local first, low, high = redis.call("ZCOUNT", key, "-inf", "(" .. from), 0, redis.call("ZCOUNT", key, from, to)
  local function at(place)
    local head = redis.call("ZRANGE", key, first + place, first + place, "WITHSCORES")
    return jobs.job_of(head[1]), tonumber(head[2])
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if came_before(at(middle), job) then
      low = middle + 1
    else
      high = middle
    end
  end
  if low == 0 then
    local _, score = at(0)
    return score - middle_score - 1
  end
  return step_behind(at(low - 1))
end

-- The zset where a ready job has its place. type: its type then.
local function list_key_of(job, type)
  return fair_lists.fair_list_of(job) or type_keys.list_key(job.queue, registry.is_by_type(job.queue) and type)
end

-- The place of a ready job among those of another priority, or type, when it keeps its place in time, by publish time: the step within the priority, as
-- extended/ready_entries computes it. Those that this script has ranked are not in the list yet.
local ranked = {}
function rank_of(job, priority, type)
  local key = list_key_of(job, type)
  local step = step_among(job, key, priority)
  for _, other in ipairs(ranked) do
    if other.key == key and other.priority == priority then
      local is_lower = ranks.is_behind(other.job.id, job.id)
      if came_before(job, other.job) then
        step = math.min(step, is_lower and other.step or other.step - 1)
      else
        step = math.max(step, is_lower and other.step + 1 or other.step)
      end
    end
  end
  ranked[#ranked + 1] = { job = job, key = key, priority = priority, step = step }
  return step
end

-- The first live job of the ready list of a queue, from a place on; nil = none is near.
local MOST_STALE = 32
function first_listed(number, from)
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), from, from + MOST_STALE - 1)) do
    local id = string.sub(entry, 1, -2)
    local header = entry ~= "" and jobs.header_of(id)
    if is_live_entry(header, entry, number) and not header.is_taken then
      return jobs.job_of(id, nil, header)
    end
  end
end

-- By queue: of the jobs that this script sends to the front of its ready list the one that was published first.
local fronts = {}
function note_front(job)
  local front = fronts[job.queue]
  fronts[job.queue] = front and came_before(front, job) and front or job
end

-- Whether a job that becomes ready belongs to the front of the ready list of its queue: then its place needs no search, and leases no comparison.
function is_first_in_list(job)
  -- The list gets its entries in the order in which jobs change.
  if job.is_changed or job.priority ~= 0 or fair_lists.joins_fair_list(job) or registry.is_by_type(job.queue) then
    return false
  end
  local front = fronts[job.queue]
  if front and --[[ guard: called-together-come-in-order ]] not came_before(job, front) then
    return false
  end
  local first = first_listed(job.queue, 0)
  return not first or came_before(job, first)
end
