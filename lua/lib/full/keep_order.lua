-- What a change of priority or place means for the order among jobs that a limit of their key holds up.
-- In the line of its key: by its new priority. One that goes elsewhere begins anew there; one that was called keeps its slot.
local function keep_order(job, priority, stays, slot)
  if not stays and not job.stand then
    put(job, "place", nil)
  elseif job.x.place and priority ~= job.priority then
    put(job, "place", text_of(tonumber(job.x.place) + (priority - job.priority) * 2 ^ 45))
    if job.state == HELD then
      write("ZADD", limits.key_of(job).line, job.x.place, job.id)
    end
  end
  if slot then
    limits.take_slot(job, slot)
  end
end
