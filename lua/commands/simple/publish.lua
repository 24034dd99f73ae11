--[[
Store jobs, each ready now or scheduled. The first may replace a job, which is removed in the same step. A call with an idempotency key stores all of
its jobs or none, and a record of them; if there is a record, it stores nothing.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, replaces, quotas, keyed, sizes
ITEM options, id, body
quotas: text  "queues,jobs of a queue,bytes,keys,items of each call…": the most that may be there (limits/call_quotas), "" = no quotas
keyed: text   the calls that have an idempotency key (jobs/idempotency), "" = none
sizes: text   the numbers of items of each call, with commas, "" = each call has one

Options: "delay_ms,ttl_ms,tries,origin,queue,more". Origin: a sum of 1 = the id was never in use, 2 = a job of the native API, 4 = an extended job,
which must be ready at once and have no ttl; and of a native job, for the defaults of its queue (jobs/queue_defaults): 8 = it says no ttl, 16 = no
tries, 32 = it says a retention of 0; 64 = delay_ms is a due time, Unix ms; 128 = its call is stored as a whole (jobs/whole_calls). More: attributes
as JSON, "" = none; of an extended job the fields of its hash, as a JSON object.
Returns {status, now_ms, codes, record × calls with code 5, what there was × calls with codes 2 to 4 and 10}. Status 3: the job that it replaces is an
extended one: use the extended path; 4: as 0, and the first item has replaced a job.
Codes: a digit per item: 0 stored, 1 the id is in use (nothing changed for this item), 2 to 4 a quota refuses the whole call (limits/call_quotas), 7 its
queue is drained (limits/queue_settings), 8 the extended path must store it: defaults of its queue (jobs/queue_defaults), or its call is stored as a
whole or not at all (jobs/whole_calls); of a call with a key: 5 stored before, see its record, 6 the key was used for another request, 9 call again:
another call of the batch has the same key; ":" (10) a quota on keys refuses the whole call.
Cost: O(log N) per item.
]]

--- @adds
--- @requires core/call, core/header, queues/registry, queues/notify, jobs/publish

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

-- Before the marker is looked at: a namespace may be forgotten when all of its jobs are done, and its records are good all the same.
local known, count, stored, leave_out_known, write_records, is_keyed, keep = nil, 0, {}, nil, nil, nil, nil
if keyed ~= "" then
  --- @requires jobs/idempotency
  known, count, stored = idempotency.find_records(keyed)
  leave_out_known, write_records, is_keyed = idempotency.leave_out, idempotency.write_idempotency_records, idempotency.has_key
end
-- guard: record-outlives-the-namespace
if #ARGV == FIRST_ITEM - 1 + count * ITEM_SIZE then
  return { 0, now_floor, table.concat(known), unpack(stored) }
elseif not registry.read_last_queue() then
  return { 2, now_floor }
end

-- Read. While there is a quota on bytes, new jobs have a flag: they count for it.
local counted_flag, stored_bytes = quotas ~= "" and not string.find(quotas, "^%d+,%d+,0,") and COUNTED or 0, 0
local codes, keys, old = publish.plan_publish(ARGV, FIRST_ITEM, replaces, counted_flag, due, expiries)
if count > 0 then
  leave_out_known(known, codes, function(item)
    return publish.publish_kinds[ARGV[FIRST_ITEM - ITEM_SIZE + item * ITEM_SIZE]].number
  end)
  old = codes[1] == "0" and old
end
if old and is_extended(old) then
  return { 3, now_floor, "" }
end
-- guard: draining-refusal-takes-no-quota
if next(registry.is_extended_queue) then
  --- @requires limits/queue_settings
  queue_settings.refuse_by_settings(ARGV, FIRST_ITEM, codes, publish.publish_kinds, old)
  if publish.has_native_kinds then
    --- @requires jobs/queue_defaults
    queue_defaults.use_queue_defaults(ARGV, FIRST_ITEM, codes, sizes)
  end
end
-- guard: publish-call-atomic
if publish.has_whole_kinds then
  --- @requires jobs/whole_calls
  whole_calls.refuse_parts(ARGV, FIRST_ITEM, codes, sizes, quotas ~= "")
end
local index_extended
if publish.has_extended_kinds then
  --- @requires jobs/publish_extended
  publish_extended.complete_extended_kinds(publish.publish_kinds)
  index_extended = publish_extended.write_extended
end
if quotas ~= "" then
  --- @requires limits/call_quotas
  local keys_kept, refused_at
  if write_records and not string.find(quotas, "^%d+,%d+,%d+,0,") then
    --- @requires limits/kept_keys
    keys_kept, keep = kept_keys.count_kept_keys(), kept_keys.keep_keys
  end
  stored_bytes, refused_at = call_quotas.admit_calls(quotas, ARGV, FIRST_ITEM, codes, publish.publish_kinds, old, replaces, keys_kept, is_keyed)
  for _, present in ipairs(refused_at) do
    stored[#stored + 1] = present
  end
end

-- Write.
publish.write_publish(ARGV, FIRST_ITEM, codes, keys, old, replaces, counted_flag > 0 and stored_bytes or 0, due, expiries)
if index_extended then
  index_extended(ARGV, FIRST_ITEM, codes, publish.publish_kinds)
end
if write_records then
  write_records(codes, function(item)
    return ARGV[FIRST_ITEM - ITEM_SIZE + item * ITEM_SIZE + 1], publish.publish_kinds[ARGV[FIRST_ITEM - ITEM_SIZE + item * ITEM_SIZE]].due and SCHEDULED or READY
  end, keep)
end
return { --[[ guard: only-a-removed-job-is-replaced ]] old and codes[1] == "0" and 4 or 0, now_floor, table.concat(codes), unpack(stored) }
