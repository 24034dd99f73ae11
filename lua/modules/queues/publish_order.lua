-- The order of jobs by their publish time.
--- @requires core/call, core/header, queues/registry, queues/ranks, queues/type_keys, queues/fair_lists, extended/jobs
--- @exports published_at, came_before, was_ready_before, rank_of

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
  local first = redis.call("ZCOUNT", key, "-inf", "(" .. text_of(middle_score - PLACES / 2))
  local low, high = 0, redis.call("ZCOUNT", key, text_of(middle_score - PLACES / 2), "(" .. text_of(middle_score + PLACES / 2))
  local function at(place)
    local head = redis.call("ZRANGE", key, first + place, first + place, "WITHSCORES")
    return jobs.job_of(head[1]), head[2] and tonumber(head[2]) - middle_score
  end
  local count = high
  -- Jobs that change together mostly come in their order: then the last one says it all.
  if high > 0 and came_before(at(high - 1), job) then
    low = high
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if came_before(at(middle), job) then
      low = middle + 1
    else
      high = middle
    end
  end
  if count == 0 then
    return tonumber(redis.call("HGET", queue_key("i", job.queue), "back") or 0)
  end
  local near, step = at(low > 0 and low - 1 or 0)
  if low == 0 then
    return step - 1
  end
  -- Jobs with equal steps are ordered by id: minted ids by time, chosen ones before or behind them all.
  return near and ranks.is_behind(near.id, job.id) and step + 1 or step
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
