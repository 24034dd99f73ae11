-- Reads a zset from a place on, by score and then by member, byte by byte: a place keeps its meaning while members come and go.
local function is_behind(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then
      return a > b
    end
  end
  return #one > #other
end

-- The rank of the first member behind a place; at "" = the beginning, id "" = before all members of that score.
local function rank_behind(key, at, id)
  if at == "" then
    return 0
  end
  local low = redis.call("ZCOUNT", key, "-inf", "(" .. at)
  local high = id == "" and low or redis.call("ZCOUNT", key, "-inf", at)
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

-- The members from a rank to another one: the job (false if it is not in this index), its id, and the place.
local function members_in(key, first, last, number, kind)
  local found, members = {}, redis.call("ZRANGE", key, first, last, "WITHSCORES")
  for i = 1, #members, 2 do
    local job = read_job(members[i])
    local stands = job and (not number or job.queue == number and (kind == "p" and job.state == READY or string.lower(kind_of(job) or "") == string.lower(kind)))
    found[#found + 1] = { stands and job or false, members[i], members[i + 1], members[i] }
  end
  return found
end

-- Up to n members behind a place.
local function walk_on(key, at, id, n, number, kind)
  local rank = rank_behind(key, at, id)
  return members_in(key, rank, rank + n - 1, number, kind)
end
