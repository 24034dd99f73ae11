-- A queue that is drained takes no new jobs until those that are still to run have gone; from then on it is as it was.
local draining = {}
local function is_draining(number)
  if draining[number] == nil then
    local settings, keys = queue_key("o", number), { meta }
    draining[number] = redis.call("HEXISTS", settings, "draining") == 1
    if draining[number] then
      for kind in string.gmatch("rgislpSLbh", ".") do
        keys[#keys + 1] = queue_key(kind, number)
      end
      redis.call("EXISTS", settings, unpack(keys))
      local facts = redis.call("HMGET", keys[4], "blanks", "far")
      local left = redis.call("LLEN", keys[2]) - redis.call("SCARD", keys[3]) - (facts[1] or 0) + (facts[2] or 0)
      for i = 5, #keys do
        left = left + redis.call("ZCARD", keys[i])
      end
      draining[number] = left > 0
      if left == 0 then
        redis.call("HDEL", settings, "draining") -- It is over, whatever becomes of the rest of this script.
      end
    end
  end
  return draining[number]
end
