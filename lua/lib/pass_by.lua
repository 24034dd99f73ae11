-- What a script passes by on its way along a line: blanks, ghosts and expired jobs.
local LOOK_LIMIT, EXPIRED_COST, looked, expired = 1000, 3, 0, 0 -- to remove an expired job takes longer than to pass by a ghost

-- is_live: the entry means a job that was ready, and has expired.
local function pass_by(line, entry, id, flags, is_live)
  if entry == "" then
    line.blanks = line.blanks + 1
  elseif not is_live then
    line.ghosts[#line.ghosts + 1] = entry
  else
    looked = looked + EXPIRED_COST - 1
    expired = expired + 1
    doom(line.doomed, id, flags)
    event_in(line.number, "expired", id)
  end
end
