-- The timers of recurring jobs: each slot of the schedule that has come makes one job.
--- @requires core/call, core/plan, queues/registry, extended/jobs, extended/timeline, extended/new_jobs, extended/unique_claims
--- @requires extended/dependencies, limits/quota_room, timers/steps, timers/cron_slots
--- @exports made, make_recurring, make_by_cron, wanted_slots, recurring_of, spawn_next

-- A recurring job, read and written by its timer.
function recurring_of(id)
  local fields = redis.call("HMGET", touch(named_key("R", id)), "options", "body", "every", "backlog", "made", "skipped", "next", "needs",
    "skips_late", "catch_up", "overlap", "slots", "complete", "jitter")
  if fields[1] then
    return {
      options = fields[1], body = fields[2], every = tonumber(fields[3]), backlog = tonumber(fields[4]), made = tonumber(fields[5]),
      skipped = tonumber(fields[6]), next = tonumber(fields[7]), needs = fields[8] or "", skips_late = fields[9] == "1",
      catch_up = tonumber(fields[10] or ""), has_overlap = (fields[11] or "allow") ~= "allow", slots = slots_in(fields[12]),
      complete = fields[13] == "1", jitter = tonumber(fields[14] or "0"),
    }
  end
end

-- A recurring job that makes up for no slot makes a job only within this time of its slot.
local LATE_MS = 60000
-- A wrong clock makes so many jobs at most.
local MOST_MADE = 1000

local function skip(recurring, slot, count, reason)
  recurring.skipped = recurring.skipped + count
  recurring.skip_at, recurring.skip_reason = slot, reason
end

-- How many of the slots that have come make no job, and why. slot_at: the slots by their number, of which `missed` have come.
local function count_skipped(recurring, missed, slot_at)
  local backlog = recurring.backlog > 0 and math.min(recurring.backlog, MOST_MADE) or MOST_MADE
  local reason = "max_catch_up"
  if recurring.has_overlap and backlog > 1 then
    -- Jobs that one script makes cannot take each other's place.
    backlog, reason = 1, "overlap"
  end
  local over = math.max(missed - backlog, 0)
  if recurring.skips_late and missed > 0 and now_floor - slot_at(missed) > LATE_MS then
    over, reason = missed, "late"
  end
  while recurring.catch_up and over < missed and now_floor - slot_at(over + 1) > recurring.catch_up do
    over, reason = over + 1, "catch_up_ms"
  end
  return over, reason
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
  local key = named_key("R", id)
  write("HSET", key, "made", text_of(recurring.made), "skipped", text_of(recurring.skipped), "next", recurring.next and text_of(recurring.next) or "")
  if recurring.last then
    write("HSET", key, "last", text_of(recurring.last))
  end
  if recurring.skip_reason then
    write("HSET", key, "skip_at", text_of(recurring.skip_at), "skip_reason", recurring.skip_reason)
  end
end

-- Queue -> how many jobs were made in it.
made = {}

-- A job of a recurring job, published at the time of its slot. Returns nil; or why not, if a quota or its unique key forbids it: then nothing is planned.
local function spawn(id, child, recurring, options, slot)
  if not has_room_for_queue(options.queue) then
    return "quota"
  end
  use_defaults(options)
  if room_for_job(number_of(options.queue), #recurring.body) ~= "0" then
    return "quota"
  elseif claim_key(options, child, recurring.body) ~= "0" then
    return recurring.has_overlap and "overlap" or "unique_key"
  end
  local job = new_job(options, child, recurring.body, job_of(child))
  put(job, "spawned", id)
  place_new(job, options)
  put(job, "put", text_of(slot))
  put(job, "due", text_of(slot))
  made[options.queue] = (made[options.queue] or 0) + 1
end

-- Makes the next job of a recurring job. Returns its id, or nil and why there is none.
function spawn_next(id, recurring, slot)
  local child, n = free_child(id, recurring.made)
  if not child then
    return nil, "quota"
  end
  local options = cjson.decode(recurring.options)
  options.needs = ids_in(recurring.needs)
  local reason = spawn(id, child, recurring, options, slot)
  if reason then
    return nil, reason
  end
  recurring.made = n
  return child
end

-- The script that makes the job of a slot moves to the next slot, so any number of servers make
-- one job. One script makes at most this many: about a millisecond and a half.
local makes = 32
local function make_job(id, recurring, slot)
  local child, reason = spawn_next(id, recurring, slot)
  if not child then
    skip(recurring, slot, 1, reason)
  end
  recurring.last, makes = slot, makes - 1
end

-- Tells of skipped slots.
local function report_skipped(id, recurring, before)
  if recurring.skipped > before then
    local options = cjson.decode(recurring.options)
    local facts = { queue = options.queue, recurring = id, skipped = recurring.skipped - before, reason = recurring.skip_reason }
    emit_event("recurring_skipped", { id = "", x = options.x or {} }, facts)
  end
end

local function recur(id)
  local recurring = recurring_of(id)
  if not recurring or not recurring.next or not recurring.every or recurring.every == 0 then
    remove_member(namespace_key("recurring"), id)
    return
  end
  local before, first, every = recurring.skipped, recurring.next, recurring.every
  local missed = math.max(math.floor((now_floor - first) / every) + 1, 0)
  local over, reason = count_skipped(recurring, missed, function(n)
    return first + (n - 1) * every
  end)
  if over > 0 then
    skip(recurring, first + (over - 1) * every, over, reason)
    recurring.next = first + over * every
  end
  for _ = 1, math.min(missed - over, makes) do
    make_job(id, recurring, recurring.next)
    recurring.next = recurring.next + every
  end
  report_skipped(id, recurring, before)
  save_recurring(id, recurring)
  add_member(namespace_key("recurring"), text_of(recurring.next), id)
end

function make_recurring(_, what)
  for _, id in ipairs(due_in(namespace_key("recurring"), what)) do
    recur(id)
  end
end

-- Recurring jobs by cron that need more slots: servers compute them (commands/extended/set_slots).
wanted_slots = {}
-- So many are left when a server is asked for more.
local FEW_SLOTS = 8
-- Until it has answered, its timer asks again after this time.
local ASK_AGAIN_MS = 1000

local function recur_by_cron(id)
  local recurring, by_cron = recurring_of(id), namespace_key("cron")
  if not recurring then
    remove_member(by_cron, id)
    return
  end
  local slots, before, first = recurring.slots, recurring.skipped, 1
  -- All that are known have passed: which the last ones are that have passed, a server knows.
  local is_stale = not recurring.complete and (#slots == 0 or slots[#slots] <= now_floor)
  if not is_stale then
    local missed = 0
    while slots[missed + 1] and slots[missed + 1] <= now_floor do
      missed = missed + 1
    end
    local over, reason = count_skipped(recurring, missed, function(n)
      return slots[n]
    end)
    if over > 0 then
      skip(recurring, slots[over], over, reason)
      recurring.last = slots[over]
    end
    first = over + 1
    while first <= missed and makes > 0 and fire_time(id, slots[first], recurring.jitter) <= now_floor do
      make_job(id, recurring, slots[first])
      first = first + 1
    end
    recurring.next = slots[first]
    report_skipped(id, recurring, before)
    save_recurring(id, recurring)
    write("HSET", named_key("R", id), "slots", slots_text(slots, first))
  end
  if is_stale or not recurring.complete and #slots - first + 1 <= FEW_SLOTS then
    wanted_slots[#wanted_slots + 1] = id
  end
  if is_stale or not slots[first] and not recurring.complete then
    add_member(by_cron, text_of(now_floor + ASK_AGAIN_MS), id)
  elseif slots[first] then
    add_member(by_cron, text_of(fire_time(id, slots[first], recurring.jitter)), id)
  else
    remove_member(by_cron, id)
  end
end

function make_by_cron(_, what)
  for _, id in ipairs(due_in(namespace_key("cron"), what)) do
    recur_by_cron(id)
  end
end
