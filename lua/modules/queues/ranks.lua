-- Where a script goes on that reads a zset in steps.
--- @requires core/call
--- @exports is_behind, rank_behind

-- Whether a member comes after another one of its score: byte by byte, as a zset is ordered.
function is_behind(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then
      return a > b
    end
  end
  return #one > #other
end

-- The rank of the first member behind a place; at "" = the beginning, id "" = before all members of that score. A place keeps
-- its meaning while members come and go.
function rank_behind(key, at, id)
  if at == "" then
    return 0
  end
  local low = redis.call("ZCOUNT", key, "-inf", "(" .. at)
  local high = --[[ guard: equal-scores-are-ordered-by-id ]] id == "" and low or redis.call("ZCOUNT", key, "-inf", at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_behind(redis.call("ZRANGE", key, middle, middle)[1], id) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end
