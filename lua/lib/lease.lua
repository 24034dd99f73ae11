-- Leases: plan_lease while reading, write_leases when the jobs' places in their lines are gone.
-- head: the header up to and with its lease number, as it is to be. batch: what lib/record writes: when the last of these leases ends, then
-- tries, attempts and lease of each, packed, and its id.
local batch = { 0 }
local function plan_lease(line, id, key, value, head, expires, ttr_ms)
  local ends, leased = now_ceil + ttr_ms, line.leased
  if expires > 0 and expires < ends then
    ends = expires
  end
  line.first = line.first and math.min(line.first, ends) or ends
  leased[id] = true
  if record ~= "" then
    batch[1] = math.max(batch[1], ends)
    batch[#batch + 1] = string.sub(head, 5)
    batch[#batch + 1] = id
  end
  put_head(key, value, head, true)
  line.scores[#line.scores + 1] = text_of(ends)
  line.scores[#line.scores + 1] = id
end

local function write_leases(line)
  if line.first then
    redis.call("ZADD", queue_key("l", line.number), unpack(line.scores))
    redis.call("ZADD", due, "LT", line.first, line.number)
  end
end
