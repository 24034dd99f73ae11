-- How many of a queue's indexes and settings there are; kinds as queue_key has them, one letter each.
local function kept_in(number, kinds)
  local keys = {}
  for kind in string.gmatch(kinds, ".") do
    keys[#keys + 1] = queue_key(kind, number)
  end
  return redis.call("EXISTS", unpack(keys))
end
