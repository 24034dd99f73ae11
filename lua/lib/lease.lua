-- Leases: plan_lease while reading, write_leases when the jobs' places in their lines are gone.
-- head: the header up to and with its lease number, as it is to be. batch: what lib/record writes: when the last of these leases ends, then
-- tries, attempts and lease of each, packed, and its id. Counted by hand: to ask a table for its length takes longer than to add to it.
local batch, batched, last_end = { 0 }, 1, 0
local function plan_lease(line, id, key, value, head, expires, ttr_ms)
  local ends, leased = now_ceil + ttr_ms, line.leased
  if expires > 0 and expires < ends then
    ends = expires
  end
  line.first = line.first and math.min(line.first, ends) or ends
  leased[id] = true
  if record ~= "" then
    last_end = math.max(last_end, ends)
    batch[batched + 1], batch[batched + 2], batched = string.sub(head, 5), id, batched + 2
  end
  put_head(key, value, head, true)
  local scores, scored = line.scores, line.scored
  scores[scored + 1], scores[scored + 2], line.scored = text_of(ends), id, scored + 2
end

local function write_leases(line)
  if line.first then
    redis.call("ZADD", queue_key("l", line.number), unpack(line.scores))
    redis.call("ZADD", due, "LT", line.first, line.number)
  end
end
