-- Some of the jobs that depend on a job. A member of the sets that was published again under its old id may not depend on it any more.
--- @requires core/call
--- @exports MOST_SHOWN, dependents_of, has_dependents

MOST_SHOWN = 100
function dependents_of(job)
  local ids = {}
  for kind in string.gmatch(job.x.users and "uv" or "", ".") do
    redis.call("EXISTS", meta_key, named_key(kind, job.id))
    for _, id in ipairs(redis.call("SRANDMEMBER", named_key(kind, job.id), MOST_SHOWN * 2)) do
      redis.call("EXISTS", meta_key, needs_key(id), named_key("f", id))
      if redis.call("SISMEMBER", needs_key(id), job.id) == 1 or redis.call("HEXISTS", named_key("f", id), job.id) == 1 then
        ids[#ids + 1] = #ids < MOST_SHOWN and id or nil
      end
    end
  end
  return ids
end

-- Whether any job depends on it, and some that do. If there are more members than are looked at, one may be among the others.
function has_dependents(job)
  local ids = dependents_of(job)
  local members = job.x.users and redis.call("SCARD", users_key(job.id)) + redis.call("SCARD", named_key("v", job.id)) or 0
  return #ids > 0 or --[[ guard: unseen-dependents-count ]] members > MOST_SHOWN * 2, ids
end
