-- Cycles of dependencies, and whether a job may depend on others. Edges that this script will write are kept here, because it cannot read them yet.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/settings
--- @exports why_not

local MOST_WAYS = 1000
local new_ways = { n = {}, u = {} }
local function add_edge(kind, id, other)
  local ways = new_ways[kind]
  ways[id] = ways[id] or {}
  table.insert(ways[id], other)
end

-- Ids one step away: n and m are dependencies, u dependents. Returns nil if they are too many.
local function next_to(kinds, id)
  local keys, size = {}, 0
  for kind in string.gmatch(kinds, ".") do
    keys[#keys + 1] = named_key(kind, id)
    size = size + redis.call("SCARD", keys[#keys])
  end
  local ids = size <= MOST_WAYS and redis.call("SUNION", unpack(keys)) or nil
  for _, other in ipairs(ids and new_ways[string.sub(kinds, 1, 1)][id] or {}) do
    ids[#ids + 1] = other
  end
  return ids
end

-- Whether a path leads from some jobs to one of others; nil if the search is too long.
local function leads(from, goals, kinds)
  local seen, queue, at = {}, { unpack(from) }, 1
  while at <= #queue do
    local ids = not goals[queue[at]] and #queue <= MOST_WAYS and next_to(kinds, queue[at])
    if not ids then
      return goals[queue[at]] or nil
    end
    for _, id in ipairs(ids) do
      if not seen[id] then
        seen[id], queue[#queue + 1] = true, id
      end
    end
    at = at + 1
  end
  return false
end

-- Whether a job may have dependencies that are still to be stored (timers/dependents): the sets of their dependents lack it until then.
local MOST_DUE = 32
local function is_tying()
  local due = redis.call("ZRANGEBYSCORE", touch(namespace_key("timers")), "-inf", text_of(now_floor), "LIMIT", 0, MOST_DUE)
  for _, timer in ipairs(due) do
    if string.sub(timer, 1, 1) == "N" then
      return true
    end
  end
  return #due == MOST_DUE
end

-- Whether another job is ready only after the job has ended: in a strict order the job keeps the slot of their key while it is blocked.
local WAITING = { [READY] = true, [SCHEDULED] = true, [BLOCKED] = true, [HELD] = true }
local function waits_behind(id, job)
  local header = jobs.header_of(id)
  local is_near = header and header.queue == job.queue and WAITING[header.state] and not is_expired(header)
  local other = is_near and jobs.job_of(id, nil, header)
  return other and not other.is_gone and other.x.ckey == job.x.ckey and not other.x.slot
end

local function follows(job, ids, queue)
  local keeps_slot = job.x.slot and settings.settings_of(job.queue).strict and (not queue or registry.find_queue(queue) == job.queue)
  if not keeps_slot then
    return false
  end
  for _, id in ipairs(ids) do
    if waits_behind(id, job) then
      return true
    end
  end
  return false
end

-- Why a job may not depend on others: an error code, nil if it may. The search for a cycle runs from both ends: along the dependents of the
-- job, and along the dependencies of the others. queue: the one that it goes to, nil = it stays where it is.
local MOST_NEEDS = 1000
function why_not(job, ids, is_all, queue)
  if #ids == 0 then
    return nil
  end
  local goals = {}
  for _, id in ipairs(ids) do
    goals[id] = true
  end
  local count = is_all and #ids or #ids + redis.call("SCARD", touch(needs_key(job.id))) + redis.call("SCARD", touch(named_key("m", job.id)))
  local found = goals[job.id] or --[[ guard: strict-slot-waits-for-no-later-job ]] follows(job, ids, queue)
  if not found then
    if job.x.users or new_ways.u[job.id] then
      found = leads({ job.id }, goals, "uv")
    end
    -- Sets of dependents may be out of date; sets of dependencies are not.
    if found ~= false or --[[ guard: untied-circle-refused ]] is_tying() then
      local is_sure = leads(ids, { [job.id] = true }, "nm")
      if is_sure ~= nil then
        found = is_sure
      end
    end
  end
  -- guard: dependency-circle-refused
  if found then
    return "dependency_cycle"
  elseif found == nil or count > MOST_NEEDS then
    return "too_many_dependencies"
  end
  for _, id in ipairs(ids) do
    add_edge("n", job.id, id)
    add_edge("u", id, job.id)
  end
end
