-- How many jobs of a queue there are: in its line, and in those of its indexes whose kinds are given, a letter each.
local function jobs_in(number, kinds)
  local keys = { meta }
  for kind in string.gmatch("rgi" .. kinds, ".") do
    keys[#keys + 1] = queue_key(kind, number)
  end
  redis.call("EXISTS", unpack(keys))
  local facts = redis.call("HMGET", keys[4], "blanks", "far")
  local jobs = redis.call("LLEN", keys[2]) - redis.call("SCARD", keys[3]) - (facts[1] or 0) + (facts[2] or 0)
  for i = 5, #keys do
    jobs = jobs + redis.call("ZCARD", keys[i])
  end
  return jobs
end
