-- The timers of recurring jobs: each slot of the schedule that has come makes one job.
--- @requires core/call, core/plan, extended/timeline, limits/store_room, timers/steps, timers/cron_slots, timers/next_recurring
--- @exports make_recurring, make_by_cron, recurring_of, save_number

-- A recurring job, read and written by its timer. made: the number in the id of its last job; taken: how many numbers up to that made no job, as their
-- ids were in use.
function recurring_of(id)
  local fields = redis.call("HMGET", touch(named_key("R", id)), "options", "body", "every", "backlog", "made", "skipped", "next", "needs",
    "skips_late", "catch_up", "overlap", "slots", "complete", "jitter", "last", "taken")
  if fields[1] then
    return {
      options = fields[1], body = fields[2], every = tonumber(fields[3]), backlog = tonumber(fields[4]), made = tonumber(fields[5]),
      skipped = tonumber(fields[6]), next = tonumber(fields[7]), needs = fields[8] or "", skips_late = fields[9] == "1",
      catch_up = tonumber(fields[10] or ""), has_overlap = (fields[11] or "allow") ~= "allow", slots = cron_slots.slots_in(fields[12]),
      complete = fields[13] == "1", jitter = tonumber(fields[14] or "0"),
      last = tonumber(fields[15] or "0"), taken = tonumber(fields[16] or "0"),
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

-- Within this time a server runs the timer: a slot is not late yet, and of several that have come with a jitter none is missed.
local ON_TIME_MS = 5000

-- How many of the slots that have come make no job, and why. Of `missed` slots come_at(n) is the time at which the job of the nth was to be made, in order.
local function count_skipped(recurring, missed, come_at)
  local backlog = recurring.backlog > 0 and --[[ guard: recurring-bounded-catch-up ]] --[[ guard: backlog-counts-the-present-slot ]] math.min(recurring.backlog, MOST_MADE) or MOST_MADE
  local reason, forgives = "max_catch_up", recurring.jitter > 0 and --[[ guard: cron-overlap-with-jitter ]] not recurring.has_overlap
  if recurring.has_overlap and backlog > 1 then
    -- Jobs that one script makes cannot take each other's place.
    -- guard: cron-overlap-one-job
    backlog, reason = 1, "overlap"
  end
  local over = math.max(missed - backlog, 0)
  -- guard: cron-jitter-misses-none
  while forgives and over > 0 and now_floor - come_at(over) <= ON_TIME_MS do
    over = over - 1
  end
  if --[[ guard: recurring-late-after-a-minute ]] recurring.skips_late and missed > 0 and now_floor - come_at(missed) > LATE_MS then
    over, reason = missed, "late"
  end
  -- guard: cron-catch-up-ms
  while recurring.catch_up and over < missed and now_floor - come_at(over + 1) > --[[ guard: present-slot-is-not-too-old ]] math.max(recurring.catch_up, ON_TIME_MS) do
    over, reason = over + 1, "catch_up_ms"
  end
  if over < missed and --[[ guard: recurring-store-full ]] store_room.is_store_full() then
    over, reason = missed, "store_full"
  end
  return over, reason
end

-- The number of the last job.
function save_number(id, recurring)
  write("HSET", named_key("R", id), "made", text_of(recurring.made), "taken", text_of(recurring.taken))
end

local function save_recurring(id, recurring)
  local key = named_key("R", id)
  save_number(id, recurring)
  write("HSET", key, "skipped", text_of(recurring.skipped), "next", recurring.next and text_of(recurring.next) or "")
  if recurring.last > 0 then
    write("HSET", key, "last", text_of(recurring.last))
  end
  if recurring.skip_reason then
    write("HSET", key, "skip_at", text_of(recurring.skip_at), "skip_reason", recurring.skip_reason)
  end
end

-- The script that makes the job of a slot moves to the next slot, so any number of servers make
-- one job. One script makes at most this many: about a millisecond and a half.
local makes = 32
local function make_job(id, recurring, slot)
  local child, reason = next_recurring.spawn_next(id, recurring, slot)
  if not child then
    skip(recurring, slot, 1, reason)
  end
  recurring.last, makes = math.max(recurring.last, slot), makes - 1
end

-- Tells of skipped slots.
local function report_skipped(id, recurring, before)
  if recurring.skipped > before then
    local options = cjson.decode(recurring.options)
    local facts = { queue = options.queue, recurring = id, skipped = recurring.skipped - before, reason = recurring.skip_reason }
    timeline.emit_event("recurring_skipped", { id = "", x = options.x or {} }, facts)
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
  for _, id in ipairs(steps.due_in(namespace_key("recurring"), what)) do
    recur(id)
  end
end

-- Servers compute more slots (commands/extended/set_slots). Until one has answered, the timer asks again after this time.
local RECHECK_MS = 1000

-- The slots whose jobs are to be made by now, in the order of these times; and all others, as they are stored.
local function slots_due(id, recurring)
  local due, others = {}, {}
  for n, slot in ipairs(recurring.slots) do
    local fires = slot <= now_floor and --[[ guard: slot-waits-for-its-jitter ]] cron_slots.fire_time(id, recurring.slots, n, recurring.jitter)
    if fires and fires <= now_floor then
      due[#due + 1] = { slot = slot, fires = fires }
    else
      others[#others + 1] = slot
    end
  end
  table.sort(due, function(a, b)
    return a.fires < b.fires or a.fires == b.fires and a.slot < b.slot
  end)
  return due, others
end

local function serve_slots(id, recurring)
  local due, slots = slots_due(id, recurring)
  local before = recurring.skipped
  local over, reason = count_skipped(recurring, #due, function(n)
    -- guard: lateness-counts-from-the-job
    return due[n].fires
  end)
  for n, one in ipairs(due) do
    if n <= over then
      skip(recurring, one.slot, 1, reason)
      recurring.last = math.max(recurring.last, one.slot)
    elseif makes > 0 then
      make_job(id, recurring, one.slot)
    else
      slots[#slots + 1] = one.slot
    end
  end
  table.sort(slots)
  recurring.slots, recurring.next = slots, slots[1]
  report_skipped(id, recurring, before)
  save_recurring(id, recurring)
  write("HSET", named_key("R", id), "slots", cron_slots.slots_text(slots, 1))
end

local function count_ahead(slots)
  local ahead = 0
  while ahead < #slots and slots[#slots - ahead] > now_floor do
    ahead = ahead + 1
  end
  return ahead
end

local function recur_by_cron(id)
  local recurring, by_cron = recurring_of(id), namespace_key("cron")
  if not recurring then
    remove_member(by_cron, id)
    return
  end
  -- All that are known have passed: which the last ones are that have passed, a server knows.
  local is_stale = not recurring.complete and --[[ guard: passed-slots-wait-for-a-server ]] count_ahead(recurring.slots) == 0
  if not is_stale then
    serve_slots(id, recurring)
  end
  local is_wanted = --[[ guard: server-computes-slots-in-time ]] not recurring.complete and count_ahead(recurring.slots) <= cron_slots.FEW_SLOTS
  local runs = cron_slots.next_timer(id, recurring.slots, recurring.jitter, recurring.complete or is_wanted)
  if is_wanted then
    table.insert(steps.timer_results.wanted_slots, id)
    local again = now_floor + RECHECK_MS
    runs = is_stale and again or math.min(runs, again)
  end
  if runs then
    add_member(by_cron, text_of(runs), id)
  --[[ guard: cron-ended-leaves-index ]] else
    remove_member(by_cron, id)
  end
end

function make_by_cron(_, what)
  for _, id in ipairs(steps.due_in(namespace_key("cron"), what)) do
    recur_by_cron(id)
  end
end
