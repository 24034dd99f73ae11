-- Keys that outlive their jobs: idempotency keys, and unique keys that are held for a time. They are counted where bytes are limited (limits/call_quotas): a hash,
-- end of a span of time (Unix ms) -> how many keys end in it. Redis removes the keys, so that they are never counted down; a span that is over does not count.
--- @requires core/call
--- @exports count_kept_keys, keep_keys

local function counts_key()
  return namespace_key("keys")
end

local over = {}
-- How many there are, at most: a key counts for up to an eighth longer than it lasts. One that is taken again counts twice.
function count_kept_keys()
  local counts, sum = redis.call("HGETALL", counts_key()), 0
  for i = 1, #counts, 2 do
    if tonumber(counts[i]) <= now_floor then
      over[#over + 1] = counts[i]
    else
      sum = sum + counts[i + 1]
    end
  end
  return sum
end

-- number keys last for ttl_ms from now. There are few spans: each is a power of two long.
function keep_keys(number, ttl_ms)
  local span = 2 ^ math.max(math.floor(math.log(ttl_ms) / math.log(2)) - 3, 0)
  local ends = (math.floor((now_ceil + ttl_ms) / span) + 1) * span
  if #over > 0 then
    redis.call("HDEL", counts_key(), unpack(over, 1, math.min(#over, 1000)))
    over = {}
  end
  redis.call("HINCRBY", counts_key(), text_of(ends), number)
  local lasts_ms = redis.call("PTTL", counts_key())
  if lasts_ms < ends - now_floor then
    redis.call("PEXPIREAT", counts_key(), text_of(ends))
  end
end
