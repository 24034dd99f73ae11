--[[
Read all that decides when a job runs, in one step; changes nothing.

KEYS meta, queues, waiting, targets, requested, traces
ARGV clock_ms, deadline_ms, id, most
most: integer  jobs in front of a ready job that are counted, at most

Returns {status, now_ms, (name, value) × N}. job: as in queries/read_jobs, its value without the body. Of the queue (queues/queue_facts): settings,
counts, last_request_ms, … Front: jobs of a priority that goes first, older ones, 1 = exact, 1 = only those of its type. Turn: in a fair queue, how many fair keys
have an earlier turn, and the key of the job. Slots: how many have the slots of its concurrency key, then
(id, state × digit, worker, since when it is leased) of some. Held_before: how many held jobs of its key come first. Key_rate_ms: when the rate of its key allows a job, Unix ms. Needs: (id, state × digit,
queue) of some of the jobs that it waits for, and of those that failed; state 0 = none is known. Dead: (id, queue) of some dead jobs that it waits for, also through others. Session: fields of the session of the worker that has its lease. Leased_ms: since when
it is leased, or its handler has begun; run_ends_ms: when its run ends by max_run_ms, 0 = never. Origin: the origin for which it is held, and its breaker. End: of a tracked job that is gone: when, how it ended, its queue.
Cost: O(most).
]]

--- @requires core/call, core/header, queues/registry, queues/queue_facts, queues/jobs_in_front, jobs/whole_job, extended/jobs, extended/settings
--- @requires extended/dead_dependencies, extended/endings, leases/run_limit, limits/rates, limits/concurrency_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Of the slots of a key, and of the jobs that it waits for.
local MOST_SHOWN = 20

local facts, job = whole_job(id, true)
local reply = { 0, now_floor, "job", facts }
local function add(name, value)
  reply[#reply + 1], reply[#reply + 2] = name, value
end
if not job then
  add("end", endings.ending_of(traces, id))
  return reply
end

local function slot_holders(key)
  local holders = { text_of(key.taken) }
  for _, holder in ipairs(redis.call("ZRANGEBYSCORE", key.slots, "-inf", concurrency_keys.most_counted(key.number), "LIMIT", 0, MOST_SHOWN)) do
    redis.call("EXISTS", meta, job_key(holder), extras_key(holder))
    local other, leased = read_job(holder), redis.call("HMGET", extras_key(holder), "worker", "leased")
    for _, value in ipairs({ holder, text_of(other and other.state or 0), leased[1] or "", leased[2] or "0" }) do
      holders[#holders + 1] = value
    end
  end
  return holders
end

queue_facts.add_queue_facts(add, facts[2], job.queue, { waiting = waiting, targets = targets, requested = requested })
local whole = jobs.job_of(id)
queue_facts.add_type_requests(add, { waiting = waiting, requested = requested }, facts[2], job.queue, whole.x.type or "")
if job.state == READY then
  local urgent, older, is_exact, is_of_type = jobs_in_front(whole, most)
  add("front", { urgent, older, is_exact and 1 or 0, is_of_type and 1 or 0 })
  if registry.fairness_of(job.queue) then
    add("turn", { jobs_in_front.keys_in_front(whole) })
  end
end
if job.state == HELD and whole.x.ckey then
  local key, set = concurrency_keys.concurrency_key_of(whole), settings.settings_of(job.queue)
  add("slots", slot_holders(key))
  local place = redis.call("ZSCORE", key.held_key, id)
  add("held_before", place and redis.call("ZCOUNT", key.held_key, "-inf", "(" .. place) or 0)
  if set.krate then
    add("key_rate_ms", rates.allowance(set.krate, key.tat) < 1 and text_of(rates.allowed_at(set.krate, key.tat, 1)) or "0")
  end
end
local needs, waits_for = {}, {}
for i = 1, #facts[7], 2 do -- Failed ones, each with how it ended.
  waits_for[#waits_for + 1] = facts[7][i]
end
local function add_needed(ids)
  for i = 1, math.min(#ids, MOST_SHOWN) do
    local other = dead_dependencies.needed_job(ids[i])
    needs[#needs + 1], needs[#needs + 2] = ids[i], text_of(other and other.state or 0)
    needs[#needs + 1] = other and registry.name_of(other.queue) or ""
  end
end
add_needed(facts[5])
add_needed(waits_for)
add("needs", needs)
if job.state == BLOCKED then
  for _, needed in ipairs(facts[5]) do
    waits_for[#waits_for + 1] = needed
  end
  local dead = dead_dependencies.dead_among(waits_for)
  for i = 2, #dead, 2 do
    dead[i] = registry.name_of(dead[i])
  end
  add("dead", dead)
end
if whole.x.hold then
  local target = redis.call("HGET", targets, "q:" .. facts[2])
  local field = target and "b:" .. target .. (whole.x.hold == "" and "" or " " .. whole.x.hold)
  add("origin", { whole.x.hold, field and redis.call("HGET", targets, field) or "" })
end
if job.state == LEASED then
  add("leased_ms", whole.x.leased or "0")
  add("run_ends_ms", text_of(run_limit.run_end_of(whole) or 0))
end
if whole.x.worker then
  redis.call("EXISTS", meta, session_key(whole.x.worker))
  add("session", redis.call("HGETALL", session_key(whole.x.worker)))
end
return reply
