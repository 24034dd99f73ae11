-- Some of the jobs that depend on a job. A member of the sets that was published again under its old id may not depend on it any more.
--- @requires core/call
--- @exports MOST_SHOWN, dependents_of, has_dependents, has_others

MOST_SHOWN = 100
local MOST_LOOKED_AT = 2 * MOST_SHOWN

local function depends_on(id, job)
  redis.call("EXISTS", meta_key, needs_key(id), named_key("f", id))
  return redis.call("SISMEMBER", needs_key(id), job.id) == 1 or redis.call("HEXISTS", named_key("f", id), job.id) == 1
end

function dependents_of(job)
  local ids = {}
  for kind in string.gmatch(job.x.users and "uv" or "", ".") do
    redis.call("EXISTS", meta_key, named_key(kind, job.id))
    for _, id in ipairs(redis.call("SRANDMEMBER", named_key(kind, job.id), MOST_LOOKED_AT)) do
      if depends_on(id, job) then
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
  return #ids > 0 or --[[ guard: unseen-dependents-count ]] members > MOST_LOOKED_AT, ids
end

-- Whether jobs that are not in the set `named` may depend on it; some that do are added to `others`, each once. All jobs of a script share the members that
-- are looked at, and the dependents that are shown: if there are enough, one more is enough for each job.
local MOST_NAMED = 64
local looks_left, shown = 2 * MOST_LOOKED_AT, {}
function has_others(job, named, others)
  local is_needed = false
  for kind in string.gmatch(job.x.users and "uv" or "", ".") do
    local key, most = named_key(kind, job.id), math.min(MOST_LOOKED_AT, looks_left + MOST_NAMED)
    redis.call("EXISTS", meta_key, key)
    local members = redis.call("SRANDMEMBER", key, most)
    for _, id in ipairs(members) do
      -- guard: cancel-many-together
      if not named[id] then
        if --[[ guard: cancel-many-in-bounded-steps ]] looks_left <= 0 or is_needed and #others >= MOST_SHOWN then
          return true
        end
        looks_left = looks_left - 1
        if depends_on(id, job) then
          others[#others + 1] = --[[ guard: cancel-many-names-once ]] not shown[id] and #others < MOST_SHOWN and id or nil
          shown[id], is_needed = true, true
        end
      end
    end
    is_needed = is_needed or #members == most and --[[ guard: unseen-dependents-stop-a-cancel ]] redis.call("SCARD", key) > most
  end
  return is_needed
end
