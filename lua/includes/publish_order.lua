-- Which of two jobs was published first.
local function published_at(job)
  return tonumber(job.x.put) or publish_time(job.id, job) or now_floor
end

local function came_before(one, other)
  local a, b = published_at(one), published_at(other)
  return a < b or a == b and one.id < other.id
end
