-- Plans for up to a share of them. Returns their ids, and the earlier of their first due time and the one given.
local function plan_due(kind, number, name, share, earliest)
  local key = queue_key(kind, number)
  local ids = redis.call("ZRANGEBYSCORE", key, "-inf", now_floor, "LIMIT", 0, math.min(share, limit))
  limit = limit - #ids
  for i, value in ipairs(read_values(ids)) do
    plan_move(kind, number, name, ids[i], value)
  end
  local first = #ids > 0 and redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2] or earliest
  return ids, math.min(earliest, tonumber(first))
end
