-- A recurring job, read and written by its timer.
local function recurring_of(id)
  local fields = redis.call("HMGET", touch(named_key("R", id)), "options", "body", "every", "backlog", "made", "skipped", "next", "needs",
    "skips_late")
  if fields[1] and tonumber(fields[7]) then
    return {
      options = fields[1], body = fields[2], every = tonumber(fields[3]), backlog = tonumber(fields[4]), made = tonumber(fields[5]),
      skipped = tonumber(fields[6]), next = tonumber(fields[7]), needs = fields[8] or "", skips_late = fields[9] == "1",
    }
  end
end

-- A recurring job that makes up for no slot makes a job only within this time of its slot.
local LATE_MS = 60000

-- How many slots have come that make a job. Of more than the backlog allows, only the last ones are made. A wrong clock makes 1,000 jobs at most.
local function skip_missed(recurring)
  local missed = math.max(math.floor((now_floor - recurring.next) / recurring.every) + 1, 0)
  local over = math.max(missed - (recurring.backlog > 0 and math.min(recurring.backlog, 1000) or 1000), 0)
  if recurring.skips_late and missed > 0 and now_floor - (recurring.next + (missed - 1) * recurring.every) > LATE_MS then
    over = missed
  end
  recurring.next, recurring.skipped = recurring.next + over * recurring.every, recurring.skipped + over
  return missed - over
end

-- The id of the next job, as src/engine/core/ids.ts stores ids, and its number. Jobs of an earlier recurring job with this id may exist: numbers are skipped in
-- growing steps.
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
  write("ZADD", namespace_key("recurring"), text_of(recurring.next), id)
end
