-- Updates the counts of limits: `left` before a job leaves its place, `runs` when it is leased.
local function left(job)
  local key = (job.x.slot or job.state == HELD) and limits.key_of(job)
  if job.state == LEASED then
    limits.moved[job.queue] = (limits.moved[job.queue] or 0) - 1
    if settings_of(job.queue).max then
      wake(job.queue)
    end
  elseif job.state == HELD then
    key.held = key.held - 1
    free("ZREM", key.held_key, job.id)
  end
  if job.x.slot then
    key.taken, key.called, limits.freed[key.name] = key.taken - 1, key.called - job.x.slot, key
    free("ZREM", key.slots, job.id)
    put(job, "slot", nil)
  end
end

local function runs(job)
  limits.moved[job.queue] = (limits.moved[job.queue] or 0) + 1
  if job.x.ckey then
    limits.take_slot(job, 0)
    put(job, "place", nil)
  end
end
