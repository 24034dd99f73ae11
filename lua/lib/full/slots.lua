-- A recurring job as its bell needs it, and as it is afterwards.
local function recurring_of(id)
  local fields = redis.call("HMGET", touch(named_key("R", id)), "options", "body", "every", "backlog", "made", "skipped", "next", "needs")
  if fields[1] and tonumber(fields[7]) then
    return {
      options = fields[1], body = fields[2], every = tonumber(fields[3]), backlog = tonumber(fields[4]), made = tonumber(fields[5]),
      skipped = tonumber(fields[6]), next = tonumber(fields[7]), needs = fields[8] or "",
    }
  end
end

-- How many slots have come; of more than the backlog allows, only the last ones stay.
local function skip_missed(recurring)
  local missed = math.max(math.floor((now_floor - recurring.next) / recurring.every) + 1, 0)
  local over = recurring.backlog > 0 and math.max(missed - recurring.backlog, 0) or 0
  recurring.next, recurring.skipped = recurring.next + over * recurring.every, recurring.skipped + over
  return missed - over
end

-- The id of the next child, as src/engine/ids.ts keeps ids, and its number. Children of a former life of the recurring job may be there
-- still: numbers are passed over in growing steps.
local function free_child(id, n)
  for step = 0, 40 do
    n = n + 2 ^ step
    local text = id .. "-" .. text_of(n)
    local child = string.rep("\0", #text == 15 and 2 or 1) .. text
    local present = job_of(child)
    if not is_taken(child, present) and not (present and present.is_gone) then
      return child, n
    end
  end
end

local function save_recurring(id, recurring)
  write("HSET", named_key("R", id), "made", text_of(recurring.made), "skipped", text_of(recurring.skipped), "next", text_of(recurring.next))
  if recurring.last then
    write("HSET", named_key("R", id), "last", text_of(recurring.last))
  end
  write("ZADD", space_key("recurring"), text_of(recurring.next), id)
end
