-- Leases out of the stretch of a line that is read. Where one goes is counted by hand, locals stand for what the loop needs, and what jobs
-- share is looked up by their header's text (lib/lease): each function, table and new text for each job is a hundredth of a reserve.
local byte, unpack_head = string.byte, struct.unpack
local reply, filled, bytes = { 0, now_floor, now_ceil }, 3, 0

-- Takes at most so many live jobs, until enough is looked at or on its way out: ids and values go to the end of reply, attributes, where
-- there are some, to a table by the job's number in its item. Returns how many.
local function take_here(line, most, ttr_ms, before, attributes_of)
  local window, ids, keys, values, size, i = line.window, line.ids, line.keys, line.values, line.size, line.at
  local number, leased, scores, scored, no_later = line.number, line.leased, line.scores, line.scored, now_ceil + ttr_ms
  local taken, is_enough, ends, score = 0, false, 0, nil
  while i <= size and taken < most and not is_enough do
    local id, value, key = ids[i], values[i + 1], keys[i + 1]
    local head, expires = unpack_head(">c17I6", value or NO_JOB)
    local kind = kinds[head] or kind_of(head)
    local is_live = kind.number == number and kind.place == byte(window[i], -1) and not leased[id]
    if not is_live or expires > 0 and expires <= now_floor then
      pass_by(line, window[i], id, kind.flags, is_live)
    else
      local until_ms = expires > 0 and expires < no_later and expires or no_later
      if until_ms ~= ends then
        ends, score = until_ms, note_end(line, until_ms)
      end
      leased[id], taken = true, taken + 1
      scores[scored + 1], scores[scored + 2], scored = score, id, scored + 2
      reply[filled + 1], reply[filled + 2], filled, bytes = id, value, filled + 2, bytes + #value
      batch[batched + 1], batch[batched + 2], batched = kind.note, id, batched + 2
      put_head(key, value, kind.head, true)
      if kind.flags % 2 == HAS_EXTRAS then
        attributes_of[before + taken] = redis.call("HGET", extras_key(id), "attributes")
      end
    end
    i, looked = i + 1, looked + 1
    is_enough = looked >= LOOK_LIMIT or bytes >= max_bytes
  end
  line.taken, line.at, line.scored = line.taken + i - line.at, i, scored
  return taken
end
