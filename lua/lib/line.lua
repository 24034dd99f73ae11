-- A queue's ready list as one script walks it from its head: lines by number, and in the order in which they were opened.
local lines, order = {}, {}
local function line_of(number)
  local line = lines[number]
  if not line then
    redis.call("EXISTS", queue_key("r", number), queue_key("l", number), queue_key("g", number), queue_key("i", number))
    line = { number = number, taken = 0, window = {}, at = 1, size = 0, blanks = 0, ghosts = {}, doomed = {} }
    line.leased, line.scores, line.scored = {}, {}, 0
    lines[number], order[#order + 1] = line, line
  end
  return line
end

-- Drops what was walked over. Frees first: LTRIM never needs memory.
local function cut_line(line)
  if line.taken == 0 then
    return
  end
  redis.call("LTRIM", queue_key("r", line.number), line.taken, "-1")
  if #line.doomed > 0 then
    redis.call("DEL", unpack(line.doomed))
  end
  if #line.ghosts > 0 then
    redis.call("SREM", queue_key("g", line.number), unpack(line.ghosts))
  end
  if line.blanks > 0 then
    redis.call("HINCRBY", queue_key("i", line.number), "blanks", -line.blanks)
  end
end
