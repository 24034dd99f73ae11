-- Done and cancelled jobs that are kept: for their retention, and no more than the queue's settings allow.
--- @requires core/call, core/plan, extended/jobs, extended/settings, extended/readers
--- @exports most_kept_in, keep

local most_kept = {}
function most_kept_in(number)
  most_kept[number] = most_kept[number] or tonumber(redis.call("HGET", queue_key("o", number), "kept") or settings.namespace_setting("retention_count", 50000))
  return most_kept[number]
end

-- A timer removes one too many: the script that ends a job does not wait for it.
local kept = {}
function keep(job, keep_ms)
  local number, at = job.queue, now_ceil + (keep_ms > 0 and keep_ms or readers.CHECK_AGAIN_MS)
  jobs.put(job, "keep", text_of(keep_ms))
  add_member(namespace_key("keeping"), text_of(at), job.id)
  set_timer("Z", at)
  kept[number] = (kept[number] or redis.call("ZCARD", queue_key("z", number))) + 1
  if kept[number] > most_kept_in(number) then
    set_timer("Z" .. number, now_floor)
  end
end
