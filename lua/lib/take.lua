-- Takes live jobs from the head of a line, while nothing is written yet, and sorts out what it meets on the way. Returns how many, and
-- true if there may be more.
local function take(line, most, wanted, ttr_ms, before, attributes_of)
  local taken = 0
  while taken < most and not line.ended do
    if bytes >= max_bytes then
      return taken, true
    end
    if line.at > line.size then
      -- If what is wanted was not enough, there may be a long way to go.
      read_window(line, line.taken < wanted and wanted - line.taken or 100)
    end
    line.ended = line.size == 0
    if not line.ended and looked >= LOOK_LIMIT then
      return taken, true
    end
    taken = taken + take_here(line, most - taken, ttr_ms, before + taken, attributes_of)
  end
  return taken, false
end
