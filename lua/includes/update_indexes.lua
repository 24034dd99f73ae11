-- All indexes of the jobs that this script changes (index_members, workers, tracked). The first step of commit.
local update_indexes
do
  local function set_of(tags)
    local set = {}
    for _, tag in ipairs(tags and cjson.decode(tags) or {}) do
      set[tag] = tag
    end
    return set
  end

  local function update_tags(job, was, is)
    if was ~= is then
      local old, new, at = set_of(was), set_of(is), text_of(tonumber(job.x.put or now_floor))
      for tag in pairs(old) do
        keep_index("t", job, tag, new[tag], at, "tags")
      end
      for tag in pairs(new) do
        keep_index("t", job, old[tag], tag, at, "tags")
      end
    end
  end

  local NOTHING = { x = {} }
  function update_indexes()
    for _, job in ipairs(changed) do
      local was, is = job.was or NOTHING.x, (is_extended(job) and not job.is_gone and job or NOTHING).x
      update_tags(job, was.tags, is.tags)
      keep_index("y", job, was.type, is.type, job.x.put)
      keep_index("F", job, was.state == DEAD and was.fgroup, job.state == DEAD and is.fgroup, job.x.ended, "groups")
      update_worker(job, was, is.worker)
      update_tracked(job, was, is.tracked)
    end
  end
end
