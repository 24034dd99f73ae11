-- Calls that would go beyond a quota are refused, each as a whole: code 2 too many queues, 3 the queue is full, 4 the namespace is.
if calls then
--- @include "lib/jobs_in"
  local room, item, used, kept = {}, 0, {}, {}
  local new_room = room_for(most_queues, redis.call("HLEN", queues))
  local bytes_room = room_for(most_bytes, (redis.call("HGET", meta, "bytes") or 0) - freed)
  if old then
    room[old.queue] = most_jobs == "0" and math.huge or room_for(most_jobs, jobs_in(old.queue, EVERYWHERE)) + 1
    bytes_room = bytes_room + (old.flags >= COUNTED and redis.call("STRLEN", job_key(replaces)) - HEADER_BYTES or 0)
  end
  for size in string.gmatch(calls, "%d+") do
    local first, fresh, bytes, code = item + 1, 0, 0, "0"
    item = item + size
    for at = first, item do
      if codes[at] == "0" then
        fresh, bytes = fresh + 1, bytes + #args[at * 3 + before + 2]
      end
    end
    local number = kinds[args[first * 3 + before]].number
    local is_new = number >= first_new and not used[number]
    room[number] = room[number] or most_jobs == "0" and math.huge or room_for(most_jobs, jobs_in(number, EVERYWHERE))
    -- What is there in part was sent again, and had its place.
    if fresh == tonumber(size) then
      code = is_new and new_room < 1 and "2" or room[number] < fresh and "3" or bytes_room < bytes and "4" or "0"
    end
    if code ~= "0" then
      for at = first, item do
        codes[at] = code
      end
    elseif fresh > 0 then
      new_room, used[number] = new_room - (is_new and 1 or 0), true
      room[number], bytes_room, stored_bytes = room[number] - fresh, bytes_room - bytes, stored_bytes + bytes
    end
  end
  for _, name in ipairs(new_queues) do
    kept[#kept + 1] = used[numbers[name]] and name or nil
  end
  new_queues = kept
end
