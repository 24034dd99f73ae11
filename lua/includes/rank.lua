-- The place of a ready job among those of another priority when it keeps its place in time, by publish time: the step within the priority, as
-- ready_entries computes it.
local function rank_of(job, priority)
  local key, middle_score = queue_key("p", job.queue), priority * 2 ^ 45 + 2 ^ 44
  local first = redis.call("ZCOUNT", key, "-inf", "(" .. text_of(middle_score - 2 ^ 44))
  local low, high = 0, redis.call("ZCOUNT", key, text_of(middle_score - 2 ^ 44), "(" .. text_of(middle_score + 2 ^ 44))
  local function at(place)
    local head = redis.call("ZRANGE", key, first + place, first + place, "WITHSCORES")
    return job_of(head[1]), head[2] and tonumber(head[2]) - middle_score
  end
  local count = high
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
  -- Equal places are ordered by id, and so by time.
  local _, step = at(low > 0 and low - 1 or 0)
  return low > 0 and step or step - 1
end
