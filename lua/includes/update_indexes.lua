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

  -- The setting of the queue counts when a job is stored in it, moved into it, put back from the dead letter, or gets other tags. From then on the
  -- job itself says whether its tags are indexed.
  local function decide_tags(job, was, is)
    local is_respawned = was.state == DEAD and job.state == READY
    if is.tags and (was.tags ~= is.tags or was.queue ~= job.queue or is_respawned) then
      put(job, "unindexed", settings_of(job.queue).unindexed)
    elseif not is.tags and is.unindexed then
      put(job, "unindexed", nil)
    end
  end

  local function indexed_tags(x)
    return not x.unindexed and x.tags or nil
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
      decide_tags(job, was, is)
      update_tags(job, indexed_tags(was), indexed_tags(is))
      keep_index("y", job, was.type, is.type, job.x.put)
      keep_index("F", job, was.state == DEAD and was.fgroup, job.state == DEAD and is.fgroup, job.x.ended, "groups")
      update_worker(job, was, is.worker)
      update_tracked(job, was, is.tracked)
    end
  end
end
