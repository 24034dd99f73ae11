-- Whether a job of a batch is within the quotas (limits/quotas): "0" it is, "2" too many queues, "3" its queue is full, "4" the namespace is.
local room, new_room, bytes_room, counted_flag = {}, 0, 0, 0
local freed_room = {} -- What this script takes out of queues before it stores, by their numbers.
if quotas ~= "" then
  read_quotas(quotas)
  counted_flag = max_bytes ~= "0" and COUNTED or 0
  new_room = room_for(max_queues, redis.call("HLEN", queues))
  bytes_room = room_for(max_bytes, redis.call("HGET", meta, "bytes") or 0)
end
local function room_for_job(number, name, bytes)
  if quotas == "" then
    return "0"
  end
  if not room[number] then
    new_room = new_room - (number >= first_new_queue and 1 or 0)
    room[number] = max_jobs == "0" and math.huge or room_for(max_jobs, count_jobs(number, ALL_INDEXES)) + (freed_room[number] or 0)
  end
  room[number], bytes_room = room[number] - 1, bytes_room - bytes
  return new_room < 0 and "2" or room[number] < 0 and "3" or bytes_room < 0 and "4" or "0"
end
