-- The ready list of an extended queue, read from its head.
local LOOK_LIMIT, looked = 500, 0
local function next_in_list(list)
  while looked < LOOK_LIMIT do
    if list.at > #list.window then
      list.window, list.at = redis.call("LRANGE", queue_key("r", list.number), list.taken, list.taken + 31), 1
    end
    local entry = list.window[list.at]
    if not entry then
      return nil
    end
    list.at, list.taken, looked = list.at + 1, list.taken + 1, looked + 1
    local id = string.sub(entry, 1, -2)
    local job = entry ~= "" and job_of(id)
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
