-- The list of a full queue, walked from its head.
local LOOK_LIMIT, looked = 500, 0
local function next_in_list(line)
  while looked < LOOK_LIMIT do
    if line.at > #line.window then
      line.window, line.at = redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + 31), 1
    end
    local entry = line.window[line.at]
    if not entry then
      return nil
    end
    line.at, line.taken, looked = line.at + 1, line.taken + 1, looked + 1
    local id = string.sub(entry, 1, -2)
    local job = entry ~= "" and job_of(id)
    if entry == "" then
      line.blanks = line.blanks + 1
    elseif not is_here(job, entry, line.number) or job.is_taken then
      line.ghosts[#line.ghosts + 1] = entry
    else
      job.is_taken = true
      return job
    end
  end
end
