-- The changed fields by their names in the native API; and the queues, if the job moves to another one.
local function changes_of(job, wish, number, priority, ties)
  local facts, fields = {}, {}
  local function add_field(name, is_changed)
    fields[#fields + 1] = is_changed and name or nil
  end
  if number ~= job.queue then
    facts.queue, facts.from = wish.queue, name_of(job.queue)
  end
  add_field("queue", number ~= job.queue)
  add_field("priority", priority ~= job.priority)
  add_field("tags", wish.tags and wish.tags ~= (job.x.tags or ""))
  add_field("tries", wish.tries and wish.tries ~= total_tries(job))
  add_field("type", wish.type and wish.type ~= job.x.type)
  add_field("retry", wish.retry and wish.retry ~= job.x.retry)
  add_field("data", wish.has_data)
  add_field("due_at", wish.due_ms)
  add_field("delay_ms", wish.delay_ms)
  add_field("ttl_ms", wish.ttl_ms)
  add_field("depends_on", ties)
  facts.fields = #fields > 0 and fields or nil
  return facts
end
