-- Quotas: the most queues, jobs of a queue and bytes of bodies, 0 = any number; then how many items each call of the batch has.
local most_queues, most_jobs, most_bytes, calls, room_for, jobs_of
local first_new, stored_bytes, count_flag = last_queue + 1, 0, 0
if quotas ~= "" then
  most_queues, most_jobs, most_bytes, calls = string.match(quotas, "^(%d+),(%d+),(%d+),(.+)$")
  -- Jobs count for the bytes while this quota is set: their own flag says whether they do, so that whoever removes them knows.
  count_flag = most_bytes ~= "0" and COUNTED or 0

  room_for = function(most, there)
    return most == "0" and math.huge or tonumber(most) - there
  end

  jobs_of = function(number)
    local keys = { meta }
    for kind in string.gmatch("rgisldpSLbh", ".") do
      keys[#keys + 1] = queue_key(kind, number)
    end
    redis.call("EXISTS", unpack(keys))
    local facts = redis.call("HMGET", keys[4], "blanks", "far")
    local line = redis.call("LLEN", keys[2]) - redis.call("SCARD", keys[3]) - (facts[1] or 0)
    for i = 5, #keys do
      line = line + redis.call("ZCARD", keys[i])
    end
    return line + (facts[2] or 0)
  end
end
