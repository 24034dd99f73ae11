-- Keeps the order among jobs that a concurrency key holds, when a job changes its priority or its place. A held job moves by its new priority. One that
-- goes elsewhere starts at the end there; one that has a slot keeps it.
local function keep_order(job, priority, stays, slot)
  if not stays and not job.stand then
    put(job, "place", nil)
  elseif job.x.place and priority ~= job.priority then
    put(job, "place", text_of(tonumber(job.x.place) + (priority - job.priority) * 2 ^ 45))
    if job.state == HELD then
      write("ZADD", limits.key_of(job).held_key, job.x.place, job.id)
    end
  end
  if slot then
    limits.take_slot(job, slot)
  end
end
