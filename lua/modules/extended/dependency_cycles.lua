-- Cycles of dependencies, and whether a job may depend on others. Edges that this script will write are kept here, because it cannot read them yet.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/settings, jobs/dependency_list
--- @exports why_not

local MOST_WAYS = 1000
local new_ways = { n = {}, u = {} }
local function add_edge(kind, id, other)
  local ways = new_ways[kind]
  ways[id] = ways[id] or {}
  table.insert(ways[id], other)
end

-- Jobs and dependencies that all searches of this script may read: a dense graph of a thousand jobs has hundreds of thousands.
local MOST_EDGES = 4000
local edges_left = MOST_EDGES

-- Ids one step away: n and m are dependencies, u dependents. Returns nil if they are too many. kept: how many edges others may still read.
local function next_to(kinds, id, kept)
  local keys, size = {}, 0
  for kind in string.gmatch(kinds, ".") do
    keys[#keys + 1] = named_key(kind, id)
    size = size + redis.call("SCARD", keys[#keys])
  end
  local ways = new_ways[string.sub(kinds, 1, 1)][id] or {}
  size, edges_left = size + #ways, edges_left - 1
  local ids = size <= MOST_WAYS and --[[ guard: circle-search-is-bounded ]] size <= edges_left - kept and redis.call("SUNION", unpack(keys)) or nil
  if ids then
    edges_left = edges_left - size
    for _, other in ipairs(ways) do
      ids[#ids + 1] = other
    end
  end
  return ids
end

-- Whether a path leads from some jobs to one of others; nil if the search is too long.
local function leads(from, goals, kinds, kept)
  local seen, queue, at = {}, { unpack(from) }, 1
  while at <= #queue do
    local ids = not goals[queue[at]] and #queue <= MOST_WAYS and next_to(kinds, queue[at], kept)
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

-- How many dependencies a job has with others and without some: those that have ended or are missing count, too, as its list has them.
local function count_with(job, more, less)
  if not job.x.deps then -- Published before there was a list.
    return #more + redis.call("SCARD", touch(needs_key(job.id))) + redis.call("SCARD", touch(named_key("m", job.id)))
  end
  local ids, _, places = dependency_list.entries_of(job.x.deps)
  local count = #ids
  for _, id in ipairs(less) do
    count, places[id] = count - (places[id] and 1 or 0), nil
  end
  for _, id in ipairs(more) do
    count = count + (places[id] and 0 or 1)
  end
  return count
end

-- Why a job may not depend on others: an error code, nil if it may. The search for a cycle runs from both ends: along the dependents of the
-- job, and along the dependencies of the others. less: those that it does not have any more, nil = it has none but the others. queue: the one
-- that it goes to, nil = it stays where it is. Also returns whether another script may know more: this one has searched for other jobs, too.
local MOST_NEEDS = 1000
function why_not(job, ids, less, queue)
  if #ids == 0 then
    return nil
  end
  local goals, is_shared = {}, edges_left < MOST_EDGES
  for _, id in ipairs(ids) do
    goals[id] = true
  end
  local count = less and --[[ guard: ended-dependencies-count ]] count_with(job, ids, less) or #ids
  local found = goals[job.id] or --[[ guard: strict-slot-waits-for-no-later-job ]] follows(job, ids, queue)
  if not found then
    if job.x.users or new_ways.u[job.id] then
      -- The other end may be nearer.
      found = leads({ job.id }, goals, "uv", math.floor(edges_left / 2))
    end
    -- Sets of dependents may be out of date; sets of dependencies are not.
    if found ~= false or --[[ guard: untied-circle-refused ]] is_tying() then
      local is_sure = leads(ids, { [job.id] = true }, "nm", 0)
      if is_sure ~= nil then
        found = is_sure
      end
    end
  end
  -- guard: dependency-circle-refused
  if found then
    return "dependency_cycle"
  elseif found == nil or count > MOST_NEEDS then
    return "too_many_dependencies", found == nil and count <= MOST_NEEDS and is_shared
  end
  for _, id in ipairs(ids) do
    add_edge("n", job.id, id)
    add_edge("u", id, job.id)
  end
end
