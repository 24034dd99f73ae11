--[[
Remove jobs whose work is done (or that are not wanted any more), whatever their state. An item that names its lease is refused when that lease is not
the present one.

KEYS meta, queues
ARGV clock_ms, deadline_ms
ITEM claim, size, ids

An item is a run of acknowledgements that share a claim: "lease,queue"; lease 0 = any, queue "" = the one that the job is in. Ids: one after the
other, size bytes each, for an argument of its own costs as much as ten of them.
Returns {status, now_ms, codes, name × M}. Name: for each id of a claim without a queue, in order, that of its job's queue; "" = there is none.
Codes: a digit per id: 0 no such job, 1 removed, 2 refused: the lease was lost, 3 removed, but its lease had expired, 4 removed under a second or
later lease, 5 removed before it was ever leased, 6 its queue is an extended one: nothing has changed, use the extended path.
Cost: O(log N) per id.
]]

--- @requires core/call, core/header, core/values, queues/registry, jobs/removal

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local function code_of(state, attempts, present, lease)
  if lease > 0 then
    -- A job whose lease expired keeps that lease's number until it is leased again, or put back from the dead letter.
    local is_held = state == LEASED or --[[ guard: batch-ack-of-the-last-holder ]] (state == READY or state == DEAD) and --[[ guard: ack-needs-earlier-lease ]] attempts > 0
    return --[[ guard: ack-compares-lease-numbers ]] present == lease and is_held and "1" or "2"
  elseif attempts == 0 then
    return "5"
  elseif state ~= LEASED then
    return "3"
  end
  return attempts > 1 and "4" or "1"
end

-- The queue that a job is in, for a claim that names none: its name, and whether it is an extended one.
local function queue_of_job(number)
  local name = number > 0 and redis.call("HGET", queue_key("i", number), "name")
  if not name then
    return "", number > 0
  end
  return name, --[[ guard: ack-leaves-extended ]] registry.find_queue(name) ~= number or --[[ guard: ack-leaves-extended ]] registry.is_extended_queue[name]
end

-- What a claim does to jobs with the same header but for when they expire. Computed once for each claim and header.
local function kind_of(claim, head)
  local _, state, flags, _, _, attempts, present, number, entry = struct.unpack(TO_ENTRY, head)
  local is_there, is_elsewhere, name = number == claim.number, claim.is_elsewhere, nil
  if claim.names_no_queue then
    name, is_elsewhere = queue_of_job(number)
    is_there = name ~= ""
  end
  is_there = is_there and not is_elsewhere
  local code = is_elsewhere and "6" or is_there and code_of(state, attempts, present, claim.lease) or "0"
  local kind = { code = code, name = name, is_there = is_there, goes = is_there and code ~= "2" and code ~= "0", state = state, number = number, entry = entry, flags = flags }
  -- Most are leased, and have nothing else to remove.
  if kind.goes and state == LEASED and flags % 2 ~= HAS_EXTRAS and flags < COUNTED then
    kind.leased = removal.index_of(LEASED, number).members
  end
  claim.kinds[head] = kind
  return kind
end

-- Read: all ids in order, and the runs of those that share a claim.
local ids, runs, claims, n = {}, {}, {}, 0
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local text, size, packed = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local claim = claims[text]
  if not claim then
    local lease, name = string.match(text, "^(%d+),(.*)$")
    local number = name ~= "" and registry.find_queue(name) or -1
    claim = { lease = tonumber(lease), number = number, names_no_queue = name == "", is_elsewhere = registry.is_extended_queue[name], kinds = {} }
    claims[text] = claim
  end
  local some, first = { struct.unpack(string.rep("c" .. size, #packed / size), packed) }, n + 1
  for at = 1, #some - 1 do -- struct.unpack returns last where it ended.
    n = n + 1
    ids[n] = some[at]
  end
  runs[#runs + 1] = { claim = claim, first = first, last = n }
end

-- Codes are text: to make text of a number costs more than all else that is done with it.
local values, keys = read_values(ids)
local codes, names, unpack_head, seen, floor = {}, {}, struct.unpack, removal.to_delete, now_floor
for _, run in ipairs(runs) do
  local claim = run.claim
  local kinds = claim.kinds
  local gone = #removal.to_delete
  for at = run.first, run.last do
    local id = ids[at]
    local head, expires = unpack_head(EXPIRY_APART, values[at] or NO_JOB)
    local kind = kinds[head] or kind_of(claim, head)
    codes[at], names[#names + 1] = kind.code, kind.name
    local leased = kind.leased
    if kind.is_there and (--[[ guard: ack-once-in-a-batch ]] seen[id] or --[[ guard: ack-checks-expiry ]] expires > 0 and expires <= floor) then
      codes[at] = "0"
    elseif leased then
      gone = gone + 1
      seen[id], seen[gone], leased[#leased + 1] = true, keys[at], id
    elseif kind.goes then
      removal.plan_removal(id, kind.state, kind.number, kind.entry, kind.flags)
      gone = #removal.to_delete
    end
  end
end

-- Write.
removal.remove_planned()
removal.return_freed_bytes()
return { 0, now_floor, table.concat(codes), unpack(names) }
