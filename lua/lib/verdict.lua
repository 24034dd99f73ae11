local function verdict(state, attempts, present, lease)
  if lease > 0 then
    return state == LEASED and present == lease and "1" or "2"
  elseif attempts == 0 then
    return "5"
  elseif state ~= LEASED then
    return "3"
  end
  return attempts > 1 and "4" or "1"
end

-- What becomes of jobs with such a header, up to when they expire, under a claim.
local function kind_of(claim, head)
  local _, state, flags, _, _, attempts, present, number, entry = struct.unpack(">BBBbHHI4I4B", head)
  local is_there = not claim.full and number == claim.number
  local code = claim.full and "6" or is_there and verdict(state, attempts, present, claim.lease) or "0"
  local kind = { code = code, is_there = is_there, goes = is_there and code ~= "2", state = state, number = number, entry = entry, flags = flags }
  -- Most are leased, and nothing else goes with them.
  if kind.goes and state == LEASED and flags % 2 ~= HAS_EXTRAS and flags < COUNTED then
    kind.leased = place_of(LEASED, number).members
  end
  claim.kinds[head] = kind
  return kind
end
