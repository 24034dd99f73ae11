--[[
Do a step of an operation, and write where the next one goes on, in one: what is done twice changes nothing twice. Or stop it.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, id, reason, limit, scan_limit, is_last, is_limited, no_push, most_bytes, most_queues, most_jobs
ITEM queue
id: text             of the operation
reason: text         why it is to stop, "" = it goes on
limit: integer       jobs to try to act on, at most
scan_limit: integer  entries to look at, at most
is_last: text        "1": there are no queues behind the items
is_limited: text     "1": only jobs in queues of the items; in an index by tag, type, group or worker the items are all queues of the caller
no_push: text        "1": the caller lacks the permission push (extended/own_url)
most_queues: integer  the quota on queues, 0 = none
most_jobs: integer    the quota on the jobs of a queue, 0 = none

Queue: of an operation that walks queue by queue, the next ones from its place on, sorted.
Returns {status, now_ms, code, at_ms, next_ms, looked, queue, (queue, respawned) × N}. Code: 0 no such operation, 1 it runs, 2 it is done, 3 it is stopped. At_ms:
when the next step may be done, Unix ms. Next_ms: the earliest timer that was set, 0 = none. Queue: where the next step goes on, "" = at the first one.
Cost: O(scan_limit + limit log N).
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/ranks, queues/registry, jobs/filters, limits/store_room, extended/jobs, extended/indexes
--- @requires extended/timeline
--- @requires extended/commit, operations/records, operations/since, operations/sources, operations/actions, operations/undo_keys, operations/undo_records

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

local MOST_SAMPLES = 5
local FIELDS = { "state", "action", "filter", "options", "created", "kinds", "name", "queue", "source", "at", "member", "mark", "matched", "done", "failed",
  "skipped", "looked", "refusals", "samples", "sampled", "rate", "next", "dry", "frees", "undo_ms", "undo", "undo_jobs", "undo_bytes", "undo_failed", "undo_refusals" }
local CODES = { [records.RUNNING] = 1, [records.ENDED] = 2, [records.STOPPED] = 3 }

records.touch_operation(id, due)
local record, values = {}, redis.call("HMGET", records.operation_key(id), unpack(FIELDS))
for i, field in ipairs(FIELDS) do
  record[field] = values[i] or nil
end
local code = record.state and CODES[record.state] or 0
local function count_of(field)
  return tonumber(record[field] or 0)
end
-- When this step is due. A step waits for a second at most: else the clock was set back.
local MOST_PAUSE_MS = 1000
local due_at = count_of("next")
if --[[ guard: operation-goes-on-after-a-jump ]] due_at > now_floor + MOST_PAUSE_MS then
  due_at = now_floor
end
if code ~= 1 then
  return { 0, now_floor, code, 0, 0, 0, "" }
elseif reason == "" and record.frees ~= "1" and --[[ guard: operation-stops-when-full ]] store_room.is_store_full() then
  reason = "store_full"
elseif reason == "" and record.undo == records.UNDO_DROPPED then
  reason = "store_full" -- In the meantime it was, and what it has done so far cannot be undone any more.
end
if reason ~= "" then
  records.end_operation(id, reason)
  return { 0, now_floor, 3, 0, 0, 0, "" }
elseif due_at > now_floor then
  return { 0, now_floor, 1, due_at, 0, 0, record.queue or "" }
elseif not registry.read_last_queue() then
  return { 2, now_floor }
end

-- Read.
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local rate, created = count_of("rate"), count_of("created")
local wanted, options, is_dry = cjson.decode(record.filter), cjson.decode(record.options), record.dry == "1"
local refusals, respawned = cjson.decode(record.refusals or "{}"), {}
options.operation, options.no_push, options.most_bytes, options.most_queues, options.most_jobs = id, no_push == "1", most_bytes, most_queues, most_jobs
options.data = options.wish and options.wish.has_data and redis.call("HGET", records.operation_key(id), "data") or ""
sources.start_sources(scan_limit, limit, rate > 0 and math.max(math.min(limit, math.floor(rate / 10)), 1) or limit)

local kept = { jobs = count_of("undo_jobs"), bytes = count_of("undo_bytes"), failed = count_of("undo_failed"), refusals = cjson.decode(record.undo_refusals or "{}") }
local has_undo = count_of("undo_ms") > 0 and not is_dry

local allowed = {}
for i = FIRST_ITEM, #ARGV do
  allowed[ARGV[i]] = true
end

local function count(field, more)
  record[field] = count_of(field) + more
end

local function refuse(why, is_nothing)
  count(is_nothing and "skipped" or "failed", 1)
  refusals[why] = (refusals[why] or 0) + 1
end

local function take_sample(job, name)
  if count_of("sampled") < MOST_SAMPLES then
    count("sampled", 1)
    record.samples = (record.samples or "") .. string.char(#job.id) .. job.id .. string.char(job.state, #name) .. name
  end
end

-- After the job has ended; before, its record was made. more: as undo_records.record_of_end returns it.
local function keep_for_undo(job, its_record, more)
  local why = not its_record and more or not undo_records.keep_record(id, kept, job.id, its_record, more) and "too_many"
  if why then
    kept.failed, kept.refusals[why] = kept.failed + 1, (kept.refusals[why] or 0) + 1
  elseif job.state == LEASED and not job.is_gone then
    jobs.put(job, "undo", id) -- If its worker does not end it before, it can be brought back.
  end
end

local function act_on(job, name, due)
  local was, its_record, more = job.state, nil, nil
  if has_undo then
    its_record, more = undo_records.record_of_end(job, due, record.action == "cancel" and options.grace_ms > 0, options.cascade)
  end
  sources.count_tried()
  local why, is_nothing = actions.act(job, record.action, options)
  if why then
    return refuse(why, is_nothing)
  end
  sources.count_acted()
  if has_undo then
    keep_for_undo(job, its_record, more)
  end
  count("done", 1)
  if was == DEAD and job.state == READY then
    respawned[name] = (respawned[name] or 0) + 1
  end
end

local place = { queue = record.queue or "", source = tonumber(record.source or 1), at = record.at or "", id = record.member or "", mark = record.mark or "" }

-- Held jobs are walked twice: ready ones may be held meanwhile. What was held all the time was met before.
local first_held = string.find(record.kinds, "h", 1, true)
local function was_met(job, source)
  return first_held and source > first_held and job.state == HELD and --[[ guard: held-jobs-count-once ]] timeline.held_at(job) <= created
end

local function visit(header, one, score, due)
  if is_expired(header) or jobs.known_jobs[one] and jobs.known_jobs[one].is_changed then
    return
  end
  local name = registry.name_of(header.queue) or ""
  if is_limited == "1" and --[[ guard: operation-within-queues ]] not allowed[name] or not filters.matches(header, filters.fields_of(header, one), wanted) then
    return
  end
  local job = jobs.job_of(one)
  local died = job.state == DEAD and tonumber(job.x.ended or record.kinds == "F" and score or redis.call("ZSCORE", queue_key("d", job.queue), one) or nil) or nil
  if wanted.from and not (died and died >= wanted.from) or wanted.to and not (died and died <= wanted.to) then
    return
  elseif not since.was_there(job, created) or since.is_own_work(job, id) or was_met(job, place.source) then
    return
  end
  count("matched", 1)
  take_sample(job, name)
  if since.has_changed(job, created, died) then
    refuse("changed", true)
  elseif not --[[ guard: dry-operation-changes-nothing ]] is_dry then
    act_on(job, name, due)
  end
end

local takes = not is_dry and (record.action == "cancel" or record.action == "delete")
local function begin_source(source)
  place.source, place.at, place.id, place.mark = source, "", "", ""
end

-- Walks the sources of a queue, or the one index, as far as this step goes. Returns whether it came to their end.
local function walk_all(number)
  while place.source <= #record.kinds and not sources.is_full() do
    local kind = string.sub(record.kinds, place.source, place.source)
    local key = number and queue_key(kind, number) or indexes.index_key(kind, record.name)
    sources.touch_source(key, number)
    if sources.walk_source(kind, key, number, place, takes, visit) then
      begin_source(place.source + 1)
    end
  end
  return place.source > #record.kinds
end

local is_over = is_last == "1"
if record.name ~= "" then
  is_over = walk_all(nil)
else
  for i = FIRST_ITEM, #ARGV do
    local name = ARGV[i]
    if place.queue == "" or ranks.is_behind(name, place.queue) then
      place.queue = name
      begin_source(1)
    end
    local number = name == place.queue and registry.find_queue(name)
    if number and not walk_all(number) then
      is_over = false
      break
    end
  end
end

-- Write.
table.insert(plan.early, registry.write_new_queues)
if kept.jobs > 0 then
  write("ZADD", undo_keys.undoable_key(), text_of(created), id)
  set_timer("V", now_floor + undo_keys.LOOK_AGAIN_MS)
end
local next_ms = commit(expiries)
local at_ms = rate > 0 and sources.acted > 0 and math.max(now_floor, due_at) + math.ceil(sources.acted * 1000 / rate) or now_floor
count("looked", sources.looked)
local changes = {
  queue = place.queue, source = place.source, at = place.at, member = place.id, mark = place.mark, refusals = cjson.encode(refusals), next = text_of(at_ms),
  samples = record.samples or "",
}
for _, field in ipairs({ "matched", "done", "failed", "skipped", "looked", "sampled" }) do
  changes[field] = text_of(count_of(field))
end
if has_undo then
  changes.undo_jobs, changes.undo_bytes, changes.undo_failed, changes.undo_refusals = text_of(kept.jobs), text_of(kept.bytes), text_of(kept.failed), cjson.encode(kept.refusals)
end
local flat = {}
for field, value in pairs(changes) do
  flat[#flat + 1], flat[#flat + 2] = field, value
end
redis.call("HSET", records.operation_key(id), unpack(flat))
if has_undo then
  undo_keys.keep_undo_keys(id, count_of("undo_ms"))
end
if is_over then
  records.end_operation(id, "")
else
  records.claim_operation(id, due, at_ms)
end
local reply = { 0, now_floor, is_over and 2 or 1, at_ms, next_ms, sources.looked, place.queue }
for name, jobs_put_back in pairs(respawned) do
  reply[#reply + 1], reply[#reply + 2] = name, jobs_put_back
end
return reply
