-- Jobs that died because a dependency failed count as failures of their queues.
for _, job in ipairs(changed) do
  if job.has_failed_by_dependency then
    count_expired_lease("died", name_of(job.queue))
  end
end
