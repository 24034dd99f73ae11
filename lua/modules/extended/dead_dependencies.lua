-- The jobs that a blocked job waits for, and the dead ones among them, also through others that are blocked.
--- @requires core/call, core/header
--- @exports needed_job, dead_among

-- How many jobs are read, and shown, at most.
local MOST_READ, MOST_SHOWN = 60, 5

-- The header of a job; nil = there is none. Each is read once.
local read = {}
function needed_job(id)
  if read[id] == nil then
    redis.call("EXISTS", meta_key, job_key(id))
    local job = read_job(id)
    read[id] = job and not is_expired(job) and job or false
  end
  return read[id] or nil
end

-- What a blocked job waits for: those that failed, and those that have not ended. Some of them, if they are many.
local function next_of(id)
  local failed, needs = named_key("f", id), needs_key(id)
  redis.call("EXISTS", meta_key, failed, needs)
  local ids, fields = {}, redis.call("HSCAN", failed, 0, "COUNT", MOST_READ)[2]
  for i = 1, #fields, 2 do
    ids[#ids + 1] = fields[i]
  end
  for _, other in ipairs(redis.call("SSCAN", needs, 0, "COUNT", MOST_READ)[2]) do
    ids[#ids + 1] = other
  end
  return ids
end

local function add_unseen(list, seen, ids)
  for _, id in ipairs(ids) do
    if #list >= MOST_READ then
      return
    end
    if not seen[id] then
      seen[id], list[#list + 1] = true, id
    end
  end
end

-- The nearest ones first, each with the number of its queue. ids: what the job itself waits for.
function dead_among(ids)
  local list, seen, dead, at = {}, {}, {}, 1
  add_unseen(list, seen, ids)
  while at <= #list and #dead < 2 * MOST_SHOWN do
    local job = needed_job(list[at])
    local state = job and job.state
    if state == DEAD then
      dead[#dead + 1], dead[#dead + 2] = list[at], job.queue
    elseif state == BLOCKED then
      add_unseen(list, seen, next_of(list[at]))
    end
    at = at + 1
  end
  return dead
end
