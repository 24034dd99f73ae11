-- Whether a job of a batch is within the quotas (lib/quotas): 0 it is, 2 too many queues, 3 its queue is full, 4 the namespace is.
local room, new_room, bytes_room = {}, quotas ~= "" and room_for(most_queues, redis.call("HLEN", queues)), 0
if quotas ~= "" then
  bytes_room = room_for(most_bytes, redis.call("HGET", meta, "bytes") or 0)
end
local function room_for_job(number, name, bytes)
  if quotas == "" then
    return "0"
  end
  if not room[number] then
    new_room = new_room - (number >= first_new and 1 or 0)
    room[number] = most_jobs == "0" and math.huge or room_for(most_jobs, jobs_in(number, EVERYWHERE))
  end
  room[number], bytes_room = room[number] - 1, bytes_room - bytes
  return new_room < 0 and "2" or room[number] < 0 and "3" or bytes_room < 0 and "4" or "0"
end
