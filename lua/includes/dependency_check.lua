-- Why a job may not depend on others: an error code, nil if it may. The search for a cycle runs from both ends: along the dependents of the
-- job, and along the dependencies of the others.
local MOST_NEEDS = 1000
local function why_not(job, ids, is_all)
  if #ids == 0 then
    return nil
  end
  local goals = {}
  for _, id in ipairs(ids) do
    goals[id] = true
  end
  local count = is_all and #ids or #ids + redis.call("SCARD", touch(needs_key(job.id))) + redis.call("SCARD", touch(named_key("m", job.id)))
  local found = goals[job.id] or false
  if not found and (job.x.users or new_ways.u[job.id]) then
    found = leads({ job.id }, goals, "uv")
    -- Sets of dependents may be out of date; sets of dependencies are not.
    if found ~= false then
      local is_sure = leads(ids, { [job.id] = true }, "nm")
      found = is_sure == nil and found or is_sure
    end
  end
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
