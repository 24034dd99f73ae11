-- What lease numbers, tries and attempts become when a job is leased. Most jobs that a script meets have the same header but for when they
-- expire: it is read once, and what it is to be is put together once.
local LEASABLE, kinds = ">BBBbHHI4I4B", {}
local function kind_of(head)
  local _, state, flags, priority, tries, attempts, lease, number, place = struct.unpack(LEASABLE, head)
  local kind = { number = state == READY and number, place = place, flags = flags }
  if state == READY then
    kind.head = struct.pack(">BBBbHHI4", FORMAT, LEASED, flags, priority, tries - 1, math.min(attempts + 1, 65535), lease + 1)
    kind.note = string.sub(kind.head, 5)
  end
  kinds[head] = kind
  return kind
end

-- What lib/record writes: when the last of these leases ends, then tries, attempts and lease of each, packed, and its id. Counted by
-- hand: to ask a table for its length takes longer than to add to it.
local batch, batched, last_end = { 0 }, 1, 0

-- Notes when some leases of a line end. Returns that time as text.
local function note_end(line, ends)
  line.first = line.first and math.min(line.first, ends) or ends
  last_end = math.max(last_end, ends)
  return text_of(ends)
end

local function write_leases(line)
  if line.first then
    redis.call("ZADD", queue_key("l", line.number), unpack(line.scores))
    redis.call("ZADD", due, "LT", text_of(line.first), text_of(line.number))
  end
end
