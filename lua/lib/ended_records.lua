-- Some records of leases that ended a while ago, each of them moved by the pump since: what a server that died left behind.
local RECORD_GRACE_MS = 60000

local function ended_records()
  local ended, some = {}, redis.call("HRANDFIELD", sending, 200, "WITHVALUES")
  local is_behind = redis.call("ZRANGEBYSCORE", due, "-inf", now_floor, "LIMIT", 0, 1)[1]
  for i = 1, is_behind and 0 or #some, 2 do
    if cmsgpack.unpack(some[i + 1])[1] < now_floor - RECORD_GRACE_MS then
      ended[#ended + 1] = some[i]
    end
  end
  return ended
end
