--[[
Store jobs on the extended path, all or none: ready, scheduled or blocked. Their queues become extended ones.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, quotas, replaces, digest, fingerprint, ttl_ms
ITEM options, id, body, needs
quotas: text  "queues,jobs of a queue,bytes,keys,number of items": the most that may be there (limits/call_quotas), "" = no quotas
digest: text  names the record of its idempotency key (jobs/idempotency), "" = it has none
ttl_ms: text  how long the record lasts, ms

Options: JSON {queue, delay_ms, due_ms, ttl_ms, tries, priority, minted, unique: {mode, window_ms, own_queue, no_push}, put, replaces, refuse_missing, x};
put: extended/publish_in_place; replaces: the same id as shown, over lmstfy's API; refuse_missing: all that it needs must be there; x: fields of the job's hash as they are
stored. Needs: the ids of jobs that must be done first, each after a byte with its length.
Returns {status, now_ms, codes, states, next_ms, missing, holder × codes 5 and 6 (or the id of a put that replaced a job), what there was × the first
code 2 to 4 and 10}. Status 3: the key has a record: {3, now_ms, what was stored}, 4 that of another request.
Codes: a digit per item; 0 stored, 6 the holder of its unique key stands for it; with any other, nothing has changed: 1 the id is in use, 2 to 4 and
":" (10) a quota (limits/quota_room), 7 its queue is drained, 5 its unique key is held, 8 the job in its place is leased, 9 others depend on that, ";" (11) the caller
may not change the holder (extended/own_url), "<" (12) there is no job that it needs.
Missing: for each item the numbers of the needs that no job has (dependencies.missing_of), with semicolons; "" = all are there.
States: a digit per item, 0 = gone. Next_ms: the earliest timer, 0 = none.
Cost: O(log N) per item.
]]

--- @adds
--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, jobs/idempotency, limits/queue_settings, limits/quota_room
--- @requires extended/jobs, extended/timeline, extended/moves, extended/dependencies, extended/new_jobs, extended/unique_claims
--- @requires extended/publish_in_place, extended/commit, limits/held_jobs

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)
local record = digest ~= "" and idempotency.read_idempotency_record(digest, fingerprint)
if record then
  return { record.is_same and 3 or 4, now_floor, record.stored }
end
if not registry.read_last_queue() then
  return { 2, now_floor }
end
quota_room.start_quotas(quotas)

-- Read.
local codes, states, fresh, holders, stand_ins, stored, missing, refused, has_unique_keys = {}, {}, {}, {}, {}, {}, {}, false, false
local old -- The job that a republish replaces.
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local n, options, id, body = #codes + 1, cjson.decode(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  codes[n], options.needs = "1", ARGV[i + 3] ~= "" and dependencies.ids_in(ARGV[i + 3]) or {}
  new_jobs.use_defaults(options)
  if n == 1 and replaces ~= "" then
    old = jobs.job_of(replaces)
    old = old and old.queue == registry.number_of(options.queue) and old or nil
    if old then
      -- guard: republish-frees-quota
      unique_claims.free_room_of(old)
    end
  end
  local is_there = not options.minted or --[[ guard: resent-publish-finds-ids ]] redis.call("EXISTS", job_key(id)) == 1 -- Sent again, because the response was lost.
  local present = jobs.known_jobs[id] or is_there and jobs.job_of(id)
  -- First of all: a publish that is sent again, because the response was lost, finds its job even if the queue is drained since.
  local is_new = not new_jobs.is_taken(id, present, options.minted)
  local is_replaced, own_key
  if options.put and present and not is_new and not is_expired(present) then
    codes[n] = publish_in_place.keeps_place(present, options.put, registry.number_of(options.queue)) or "0"
    is_new, is_replaced = codes[n] == "0", true
  end
  if is_new and replaces == "" and queue_settings.is_draining(registry.number_of(options.queue)) then
    codes[n] = "7"
  elseif is_new then
    if is_replaced then
      own_key = --[[ guard: put-keeps-its-window ]] present.state < DONE and present.x.unique or nil
      is_replaced, present = publish_in_place.take_place_of(present, options.queue), nil
    end
    codes[n] = "0"
    if options.unique then
      has_unique_keys = true
      codes[n], holders[#holders + 1] = unique_claims.claim_key(options, id, body, own_key)
    end
    codes[n] = options.put and codes[n] == "6" and "5" or codes[n] -- Or the id would have no job any more.
    if codes[n] == "6" and quota_room.has_quotas and options.unique.mode ~= "existing" then
      codes[n] = --[[ guard: debounce-within-quota ]] quota_room.room_for_growth(#body - jobs.body_bytes_of(jobs.job_of(holders[#holders]))) == "0" and "6" or "4"
      holders[#holders] = codes[n] == "6" and holders[#holders] or nil
    end
    codes[n] = codes[n] == "0" and quota_room.room_for_job(registry.number_of(options.queue), #body + quota_room.new_beside_bytes(options)) or codes[n]
    codes[n] = codes[n] == "0" and quota_room.room_for_keys(options, digest ~= "" and tonumber(ttl_ms) or nil) or codes[n]
  end
  refused = refused or codes[n] ~= "0" and codes[n] ~= "6"
  stand_ins[n], states[n] = codes[n] == "6" and jobs.job_of(holders[#holders]) or nil, 0
  stored[n], missing[n] = codes[n] == "6" and holders[#holders] or id, ""
  if codes[n] == "0" then
    fresh[#fresh + 1] = { n = n, options = options, job = new_jobs.new_job(options, id, body, present) }
    holders[#holders + 1] = is_replaced and id or nil
  end
end
-- Now, as jobs of a call may need each other.
for _, item in ipairs(fresh) do
  missing[item.n] = dependencies.missing_of(item.options.needs)
  if item.options.refuse_missing and --[[ guard: missing-dependency-refused ]] missing[item.n] ~= "" then
    codes[item.n], refused = "<", true
  end
end
local all_missing = table.concat(missing, ";")
if refused then
  holders[#holders + 1] = select(2, quota_room.first_refusal())
  return { 0, now_floor, table.concat(codes), "", 0, all_missing, unpack(holders) }
end
if old and fresh[1] then
  moves.leave(old)
  moves.conclude(old, nil, "replaced", timeline.worker_facts(old))
  fresh[1].job.replaces = fresh[1].options.replaces
end
for _, item in ipairs(fresh) do
  new_jobs.place_new(item.job, item.options)
end
if has_unique_keys then
  unique_claims.place_debounced()
end
held_jobs.call_all_held()
local used = {}
for _, item in ipairs(fresh) do
  states[item.n], used[item.job.queue] = item.job.state, true
end
-- guard: held-key-makes-no-queue
registry.keep_new_queues(used)
for n, job in pairs(stand_ins) do
  states[n] = job.state
end

-- Write.
if digest ~= "" then
  for n, id in ipairs(stored) do
    stored[n] = idempotency.idempotency_entry(states[n], codes[n] == "6", id)
  end
  -- guard: idempotency-same-step-extended
  write("SET", queue_key("k", digest), fingerprint .. table.concat(stored), "PX", ttl_ms)
end
table.insert(plan.early, registry.write_new_queues)
local next_ms = commit(expiries)
return { 0, now_floor, table.concat(codes), table.concat(states), next_ms, all_missing, unpack(holders) }
