-- Tags and tracking, which do not change a job's state. By verb; each returns its code.
local function retag(job, changes, is_wanted)
  local list, place = job.x.tags and cjson.decode(job.x.tags) or {}, {}
  for i, tag in ipairs(list) do
    place[tag] = i
  end
  local kept, count = {}, #list
  for _, tag in ipairs(changes) do
    if is_wanted and not place[tag] then
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
  make_extended(job)
  put(job, "tags", #kept > 0 and cjson.encode(kept) or nil)
  log_event("changed", job, { fields = { "tags" } })
  return 1
end

local tag_verbs = {
  tag = function(job, tags) return retag(job, tags, true) end,
  untag = function(job, tags) return job.x.tags and retag(job, tags, false) or 1 end,
  track = function(job) return track(job, text_of(now_floor)) end,
  untrack = function(job) return job.x.tracked and track(job, nil) or 1 end,
  look = function() return 1 end,
}
