-- A queue that is drained takes no new jobs until those that are still to run have gone; from then on it is as it was.
local draining = {}
local function is_draining(number)
  if draining[number] == nil then
    local settings = queue_key("o", number)
    draining[number] = redis.call("HEXISTS", settings, "draining") == 1
    if draining[number] and redis.call("EXISTS", meta, settings) > 0 and jobs_in(number, "slpSLbh") == 0 then
      draining[number] = false
      redis.call("HDEL", settings, "draining") -- It is over, whatever becomes of the rest of this script.
    end
  end
  return draining[number]
end
