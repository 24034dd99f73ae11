-- The timer of recurring jobs: each slot of the schedule that has come makes one job.
--- @requires core/call, core/plan, queues/registry, extended/jobs, extended/timeline, extended/new_jobs, extended/unique_claims
--- @requires extended/dependencies, limits/quota_room, timers/steps
--- @exports made, make_recurring

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

-- Queue -> how many jobs were made in it.
made = {}

-- A job of a recurring job, published at the time of its slot. Returns false if a quota or its unique key forbids it: then nothing is planned.
local function spawn(id, child, body, options, slot)
  if not has_room_for_queue(options.queue) then
    return false
  end
  use_defaults(options)
  if room_for_job(number_of(options.queue), #body) ~= "0" or claim_key(options, child, body) ~= "0" then
    return false
  end
  local job = new_job(options, child, body, job_of(child))
  put(job, "spawned", id)
  place_new(job, options)
  put(job, "put", text_of(slot))
  put(job, "due", text_of(slot))
  made[options.queue] = (made[options.queue] or 0) + 1
  return true
end

-- The script that makes the job of a slot moves to the next slot, so any number of servers make
-- one job. One script makes at most this many: about a millisecond and a half.
local makes = 32
local function recur(id)
  local recurring = recurring_of(id)
  if not recurring then
    free("ZREM", namespace_key("recurring"), id)
    return
  end
  local options, skipped = cjson.decode(recurring.options), recurring.skipped
  local template = { id = "", x = options.x or {} }
  for _ = 1, math.min(skip_missed(recurring), makes) do
    local child, n = free_child(id, recurring.made)
    options = cjson.decode(recurring.options)
    options.needs = ids_in(recurring.needs)
    if child and spawn(id, child, recurring.body, options, recurring.next) then
      recurring.made = n
    else
      recurring.skipped = recurring.skipped + 1
    end
    recurring.last, recurring.next, makes = recurring.next, recurring.next + recurring.every, makes - 1
  end
  if recurring.skipped > skipped then
    emit_event("recurring_skipped", template, { queue = options.queue, recurring = id, skipped = recurring.skipped - skipped })
  end
  save_recurring(id, recurring)
end

function make_recurring(_, what)
  for _, id in ipairs(due_in(namespace_key("recurring"), what)) do
    recur(id)
  end
end
