-- A job of a recurring job, published at the time of its slot. Returns false if a quota or its unique key forbids it: then nothing is planned.
local function spawn(id, child, body, options, slot)
  if quotas ~= "" and new_room < 1 and not find_queue(options.queue) then
    return false
  end
  use_defaults(options)
  if room_for_job(number_of(options.queue), options.queue, #body) ~= "0" or claim_key(options, child, body) ~= "0" then
    return false
  end
  local job = new_job(options, child, body, job_of(child))
  put(job, "spawned", id)
  place_new(job, options)
  put(job, "put", text_of(slot))
  put(job, "due", text_of(slot))
  made[options.queue] = (made[options.queue] or 0) + 1
  return true
end
