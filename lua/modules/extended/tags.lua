-- Tags and tracking, which do not change a job's state.
--- @requires extended/jobs, extended/timeline, extended/conversion, limits/byte_room
--- @exports retag, track

-- Adds tags to a job, or removes them if they are not wanted. Returns the code of the command extended/tag_jobs.
function retag(job, changes, is_wanted, most_tags, most_bytes)
  local list, place = job.x.tags and cjson.decode(job.x.tags) or {}, {}
  for i, tag in ipairs(list) do
    place[tag] = i
  end
  local kept, count = {}, #list
  for _, tag in ipairs(changes) do
    if is_wanted and --[[ guard: tag-counts-once ]] not place[tag] then
      count = count + 1
      list[count], place[tag] = tag, count
    elseif not is_wanted and place[tag] then
      list[place[tag]] = false
    end
  end
  for i = 1, count do
    kept[#kept + 1] = list[i] or nil
  end
  if is_wanted and #kept > most_tags then
    return 2
  end
  local json = #kept > 0 and cjson.encode(kept) or nil
  if is_wanted and not byte_room.has_room_for_field(job, "tags", json, most_bytes) then
    return 4
  end
  conversion.make_extended(job)
  jobs.put(job, "tags", json)
  timeline.log_event("changed", job, { fields = { "tags" }, --[[ guard: tag-event-names-worker ]] worker = timeline.worker_facts(job).worker })
  return 1
end

-- Starts the tracking of a job, or ends it (since is nil), with an event. Returns the code.
function track(job, since)
  conversion.make_extended(job)
  if not since then
    timeline.emit_event("untracked", job, timeline.worker_facts(job))
  end
  jobs.put(job, "tracked", since and (job.x.tracked or since))
  if since then
    timeline.emit_event("tracked", job, timeline.worker_facts(job))
  end
  return 1
end
