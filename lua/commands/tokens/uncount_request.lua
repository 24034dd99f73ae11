--[[
Give a counted request back: it got neither a job nor a job id. Only in the window that counted it.

KEYS window
ARGV started
started: text  the window that counted the request, as count_request returned it

Returns 1 if given back, 0 if that window is over.
Cost: O(1).
]]

local state = redis.call("HMGET", window, "started", "used")
if state[1] ~= started or tonumber(state[2]) < 1 then
  return 0
end
redis.call("HINCRBY", window, "used", -1)
return 1
