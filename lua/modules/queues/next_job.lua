-- Jobs of an extended queue, taken from its head: those of priorities below 0 first, then the ready list, then the rest.
--- @requires core/call, core/header, core/plan, queues/publish_order, queues/ready_list_reader, extended/jobs, extended/moves, limits/slots
--- @requires limits/at_lease, limits/push_origins
--- @exports LOOK_LIMIT, looked, next_in_list, found_expired, next_live

-- How many entries this script has looked at, and how many it may.
looked = 0
LOOK_LIMIT = 500

-- The next job of the ready list; nil if there is none, or if this script has looked at enough entries. wanted: how many jobs the script may take.
function next_in_list(list, wanted)
  while looked < LOOK_LIMIT do
    if list.at > list.size then
      ready_list_reader.read_window(list, wanted)
    end
    local at = list.at
    local entry, id, value = list.window[at], list.ids[at], list.values[at + 1]
    if not entry then
      return nil
    end
    list.at, list.taken, looked = at + 1, list.taken + 1, looked + 1
    local job = entry ~= "" and value and jobs.job_of(id, value)
    if entry == "" then
      list.tombstones = list.tombstones + 1
    elseif not is_live_entry(job, entry, list.number) or job.is_taken then
      list.stale[#list.stale + 1] = entry
    else
      job.is_taken = true
      return job
    end
  end
end

-- Whether the head of the zset comes before the ready list. A job of priority 0 is in the zset after a change that kept its place in time: it is
-- compared with those of the list.
local function is_before_list(list, head)
  local score = head[1] and tonumber(head[2]) or 0
  if score <= 0 or score >= PLACES then
    return score < 0
  end
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", list.number), list.taken, list.taken + 31)) do
    local job = entry ~= "" and jobs.job_of(string.sub(entry, 1, -2))
    if is_live_entry(job, entry, list.number) and not job.is_taken then
      return --[[ guard: changed-priority-keeps-place ]] publish_order.came_before(jobs.job_of(head[1]), job)
    end
  end
end

-- The next job, expired or not; nil if there is none, or if this script has looked at enough entries.
local function next_job(list, wanted)
  list.skip = list.skip or 0
  list.head = list.head or redis.call("ZRANGE", touch(queue_key("p", list.number)), list.skip, list.skip, "WITHSCORES")
  local head = list.head
  local job = not is_before_list(list, head) and next_in_list(list, wanted)
  if not job and head[1] and looked < LOOK_LIMIT then
    looked, list.skip, list.head, job = looked + 1, list.skip + 1, nil, jobs.job_of(head[1])
  end
  return job or nil
end

-- Jobs that expired: they end when they are found.
found_expired = 0

-- A job that is held costs as much as so many entries.
local PARKED_COST = 12

-- The next job that may be leased. Those whose key has no slot, or whose origin does not work, are held.
-- is_pushed: the lease is of a server that pushes.
function next_live(list, wanted, is_pushed)
  while true do
    local job = next_job(list, wanted)
    if job and is_expired(job) then
      found_expired = found_expired + 1
      moves.leave(job)
      moves.conclude(job, nil, "expired")
    elseif not job then
      return nil
    else
      local has_room = slots.has_slot(job)
      local origin = has_room and (is_pushed or job.x.ckey) and push_origins.closed_origin_of(job, is_pushed)
      if has_room and not origin then
        return job
      end
      looked = looked + PARKED_COST
      at_lease.park(job, origin)
    end
  end
end
