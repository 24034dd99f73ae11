--[[
Lease ready jobs, or register that a server waits for them: one step, so that no job is published in between. Each item takes up to count jobs from
its queues, in their order.

KEYS meta, queues, due, waiting, sending
ARGV clock_ms, deadline_ms, flag_ms, max_bytes, record
ITEM names, count, enough, ttr_ms, waits

Names are joined by commas; waits is "1" to be registered when fewer than enough are found.
Returns {status, now_ms, now_ceil_ms, floor, (found, (id, value) × found) × N, expired}. Floor: no lease has a lower number, but for jobs with flag 4.
Found: jobs leased; -1 - jobs leased = there may be more, call again; -1000000 = an extended queue, or a job that has to become an extended one, use
the extended path. As text where jobs have attributes or the item has several names: found, then a line for each job: which of the names, from 1, a
space, its attributes.
Value: header as it was before the lease, then the body. Expired: jobs met past their ttl, and removed.
Cost: O(log N) per job, plus up to 1,000 stale entries.
]]

--- @requires core/call, core/header, core/values, queues/registry, queues/ready_list_reader, queues/waiters
--- @requires jobs/events, jobs/removal, jobs/deliveries

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Stands for the number of jobs where the extended path must be used.
local USE_EXTENDED = 999999
-- Entries that one call passes, at most. To remove an expired job takes as long as to pass three of them.
local MAX_PASSED, EXPIRED_COST = 1000, 3
local passed, expired = 0, 0
local byte, unpack_head = string.byte, struct.unpack
local reply, filled, bytes = { 0, now_floor, now_ceil, floor_of_leases() }, 4, 0
-- For the delivery record: its leases, their number counted by hand, and when the last of them ends.
local batch, batched, last_end = { 0 }, 1, 0

-- Most jobs have the same header but for when they expire. So what a header becomes by a lease is computed once, from the 17 bytes before the expiry.
local kinds = {}
local function kind_of(head)
  local api, state, flags, priority, tries, attempts, lease, number, entry = unpack_head(TO_ENTRY, head)
  local kind = { number = state == READY and number, entry = entry, flags = flags, lease = lease, attempts = attempts }
  if state == READY then
    local granted, is_for_extended = next_lease(kind)
    kind.is_for_extended = is_for_extended
    kind.head = struct.pack(TO_LEASE, --[[ guard: free-mark-ends-simple ]] --[[ guard: lease-keeps-the-api ]] api % FREE_LEASE, LEASED, flags, priority, tries - 1, math.min(attempts + 1, 65535), granted)
    kind.logged = string.sub(kind.head, TRIES_FROM)
  end
  kinds[head] = kind
  return kind
end

-- Passes a tombstone, a stale entry or an expired job. is_live: the entry means a job that was ready, and has expired.
local function pass_by(list, entry, id, flags, is_live)
  if entry == "" then
    list.tombstones = list.tombstones + 1
  elseif not is_live then
    list.stale[#list.stale + 1] = entry
  else
    passed, expired = passed + EXPIRED_COST - 1, expired + 1
    removal.mark_for_deletion(list.to_delete, id, flags)
    events.emit_in(list.number, "expired", id)
  end
end

-- Returns as text when some leases of a list end.
local function track_end(list, ends)
  list.first_end = list.first_end and math.min(list.first_end, ends) or ends
  last_end = math.max(last_end, ends)
  return text_of(ends)
end

-- Leases up to so many jobs out of the window that was read, until enough is passed or on its way out. Ids and values go to the end of the reply;
-- attributes, where a job has some, to a table by the job's number in its item. Returns how many. The loop keeps counts and lengths in locals: each
-- function, table and new text for each job is a hundredth of a lease.
local function take_from_window(list, most, ttr_ms, before, attributes_of)
  local window, ids, keys, values, size, i = list.window, list.ids, list.keys, list.values, list.size, list.at
  local number, leased, scores, scored, no_later = list.number, list.leased, list.scores, list.scored, now_ceil + ttr_ms
  local taken, is_enough, ends, score = 0, false, 0, nil
  while i <= size and taken < most and not is_enough do
    local id, value, key = ids[i], values[i + 1], keys[i + 1]
    local head, expires = unpack_head(EXPIRY_APART, value or NO_JOB)
    local kind = kinds[head] or kind_of(head)
    local is_live = --[[ guard: lease-checks-queue-number ]] kind.number == number and --[[ guard: lease-checks-entry-number ]] kind.entry == byte(window[i], -1) and --[[ guard: lease-once-per-script ]] not leased[id]
    if not is_live or --[[ guard: lease-checks-expiry ]] expires > 0 and expires <= now_floor then
      pass_by(list, window[i], id, kind.flags, is_live)
    elseif kind.is_for_extended then
      list.is_for_extended = true
      break
    else
      local until_ms = expires > 0 and expires < no_later and expires or no_later
      if until_ms ~= ends then
        ends, score = until_ms, track_end(list, until_ms)
      end
      leased[id], taken = true, taken + 1
      scores[scored + 1], scores[scored + 2], scored = score, id, scored + 2
      reply[filled + 1], reply[filled + 2], filled, bytes = id, value, filled + 2, bytes + #value
      batch[batched + 1], batch[batched + 2], batched = kind.logged, id, batched + 2
      put_head(key, value, kind.head, true)
      if kind.flags % 2 == HAS_EXTRAS then
        attributes_of[before + taken] = redis.call("HGET", extras_key(id), "attributes")
      end
    end
    i, passed = i + 1, passed + 1
    is_enough = passed >= MAX_PASSED or bytes >= max_bytes
  end
  list.taken, list.at, list.scored = list.taken + i - list.at, i, scored
  return taken
end

-- Leases up to so many jobs of a queue. wanted: how many all items want of it. Returns how many, and true if there may be more.
local function take(list, most, wanted, ttr_ms, before, attributes_of)
  local taken = 0
  while taken < most and not list.ended do
    if bytes >= max_bytes then
      return taken, true
    end
    if list.at > list.size then
      -- If the first window was not enough, many entries may be stale.
      ready_list_reader.read_window(list, list.taken < wanted and wanted - list.taken or 100)
    end
    list.ended = list.size == 0
    if not list.ended and passed >= MAX_PASSED then
      return taken, true
    end
    taken = taken + take_from_window(list, most - taken, ttr_ms, before + taken, attributes_of)
    if list.is_for_extended then
      return taken, true
    end
  end
  return taken, false
end

-- upto: for each name the number of the last job from it.
local function with_details(answer, found, upto, attributes_of)
  local lines, place = { answer }, 1
  for job = 1, found do
    while job > upto[place] do
      place = place + 1
    end
    lines[job + 1] = place .. " " .. (attributes_of[job] or "")
  end
  return table.concat(lines, "\n")
end

-- Read.
redis.call("EXISTS", meta, due, waiting, record ~= "" and sending or meta)
-- How many jobs all items together want of each queue: so long is the first window.
local wanted, unserved = {}, {}
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  for name in string.gmatch(ARGV[i], "[^,]+") do
    wanted[name] = (wanted[name] or 0) + ARGV[i + 1]
  end
end

for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local found, again, upto, attributes_of = 0, false, {}, {}
  local count, ttr_ms = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3])
  filled = filled + 1
  local found_at = filled
  for name in string.gmatch(ARGV[i], "[^,]+") do
    local number = not again and found < count and registry.find_queue(name)
    if number and registry.is_extended_queue[name] then
      again, found, number = true, found > 0 and found or USE_EXTENDED, false
    end
    if number then
      local list = ready_list_reader.ready_list_of(number)
      local taken
      taken, again = take(list, count - found, wanted[name], ttr_ms, found, attributes_of)
      found = found + taken
      if found == 0 and list.is_for_extended then
        found = USE_EXTENDED
      end
    end
    upto[#upto + 1] = found
  end
  reply[found_at] = --[[ guard: big-lease-calls-run-again ]] again and -1 - found or found
  if filled > found_at and (#upto > 1 or next(attributes_of)) then
    reply[found_at] = with_details(reply[found_at], found, upto, attributes_of)
  end
  if found < tonumber(ARGV[i + 2]) and not again and ARGV[i + 4] == "1" then
    unserved[#unserved + 1] = ARGV[i]
  end
end

-- Write: all lists are trimmed before anything is added.
-- guard: lease-frees-before-it-adds
for _, list in ipairs(ready_list_reader.ready_lists) do
  ready_list_reader.trim_ready_list(list)
end
removal.return_freed_bytes()
for _, list in ipairs(ready_list_reader.ready_lists) do
  if list.first_end then
    redis.call("ZADD", queue_key("l", list.number), unpack(list.scores))
    redis.call("ZADD", due, "LT", text_of(list.first_end), text_of(list.number))
  end
end
write_values()
deliveries.write_delivery_record(sending, record, batch, batched, last_end)
events.write_events()
waiters.register_waiters(waiting, flag_ms, unserved)
reply[filled + 1] = expired
return reply
