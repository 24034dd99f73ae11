-- A dead job that is put back takes its unique key again. Returns false if another job holds the key by now: then it must stay dead.
local function retake_unique(job)
  local key = not job.x.uends and job.x.unique
  local holder = key and holder_of(key)
  if holder and holder.id ~= job.id then
    return false
  elseif key then
    hold_unique(key, job.id, 0)
  end
  return true
end
