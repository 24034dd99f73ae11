-- A job that comes back from the dead takes its unique key again. False if another one holds it by now: then it must stay where it is.
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
