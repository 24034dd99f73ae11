-- Leases: plan_lease while reading, write_leases when the jobs' places in their lines are gone.
-- numbers: tries, attempts and lease as the header is to hold them. batch: what lib/record writes: when the last of these leases ends, then
-- numbers and id of each. Counted by hand: to ask a table for its length takes longer than to add to it.
local batch, batched, last_end = { 0 }, 1, 0
local function plan_lease(line, id, value, numbers, expires, ttr_ms)
  local ends, leased = now_ceil + ttr_ms, line.leased
  if expires > 0 and expires < ends then
    ends = expires
  end
  line.first = line.first and math.min(line.first, ends) or ends
  leased[id] = true
  if ends > last_end then
    last_end = ends
  end
  batch[batched + 1], batch[batched + 2], batched = numbers, id, batched + 2
  put_head(job_key(id), value, string.char(FORMAT, LEASED) .. string.sub(value, 3, 4) .. numbers, true)
  line.scores[#line.scores + 1] = text_of(ends)
  line.scores[#line.scores + 1] = id
end

local function write_leases(line)
  if line.first then
    redis.call("ZADD", queue_key("l", line.number), unpack(line.scores))
    redis.call("ZADD", due, "LT", line.first, line.number)
  end
end
