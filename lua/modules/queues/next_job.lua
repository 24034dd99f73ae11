-- Jobs of an extended queue, taken from its head: those of priorities below 0 first, then the ready list, then the rest.
--- @requires core/call, core/header, core/plan, queues/type_keys, queues/publish_order, queues/ready_list_reader, queues/ready_heads, queues/fair_turns
--- @requires queues/registry, extended/jobs, extended/moves
--- @requires limits/slots, limits/at_lease, limits/push_origins
--- @exports LOOK_LIMIT, looked, next_in_list, found_expired, next_live

-- How many entries this script has looked at, and how many it may.
looked = 0
LOOK_LIMIT = 500

-- The next job of the ready list; nil if there is none, or if this script has looked at enough entries. wanted: how many jobs the script may take.
function next_in_list(list, wanted)
  while looked < LOOK_LIMIT do
    if list.at > list.size then
      -- If the first window was not enough, many entries may be stale.
      ready_list_reader.read_window(list, list.taken < wanted and wanted - list.taken or 100)
    end
    local at = list.at
    local entry, id, value = list.window[at], list.ids[at], list.values[at + 1]
    if not entry then
      return nil
    end
    list.at, list.taken, looked = at + 1, list.taken + 1, looked + 1
    -- There may be many entries that are not live.
    local header = entry ~= "" and value and jobs.header_of(id, value)
    if entry == "" then
      list.tombstones = list.tombstones + 1
    elseif not is_live_entry(header, entry, list.number) or header.is_taken then
      list.stale[#list.stale + 1] = entry
    else
      local job = jobs.job_of(id, value, header)
      job.is_taken = true
      return job
    end
  end
end

-- Whether the head of a zset comes before the ready list. A job of priority 0 is in one after a change that kept its place in time, or because its queue
-- is ordered by type: it is compared with those of the list.
local function is_before_list(list, head)
  if head.score < 0 or head.score >= PLACES then
    return head.score < 0
  end
  local job = publish_order.first_listed(list.number, list.taken)
  if not job then
    return false
  end
  local first = jobs.job_of(head.id)
  if first.entry == type_keys.LISTED then
    return head.score < PLACES / 2 + type_keys.FRONT_STEPS or publish_order.was_ready_before(first, job)
  end
  return --[[ guard: changed-priority-keeps-place ]] publish_order.came_before(first, job)
end

-- The next job that is in no list of a fair key.
local function next_in_order(list, wanted, types)
  local head = ready_heads.lowest_head(list, wanted, types)
  local is_paused = list.paused_types and list.paused_types[""]
  local is_for_list = not is_paused and (not types or --[[ guard: types-leave-out-untyped-jobs ]] types[""])
  local job = is_for_list and not (head and is_before_list(list, head)) and next_in_list(list, wanted)
  if not job and head and looked < LOOK_LIMIT then
    looked, job = looked + 1, ready_heads.take_head(head)
  end
  return job or nil
end

-- The next job of a queue that has lists of fair keys: of the key with the lowest turn.
local function next_in_turn(list, wanted, types)
  local listed = types or list.paused_types and fair_turns.types_but(list, list.paused_types)
  while looked < LOOK_LIMIT do
    local key, read = fair_turns.lowest_turn(list, wanted, listed, LOOK_LIMIT - looked)
    local job
    looked = looked + read
    if not key then
      return nil
    elseif key.is_common then
      job = next_in_order(list, wanted, types)
    else
      looked, job = looked + 1, fair_turns.take_turn_job(list, key, wanted, listed)
    end
    if job then
      job.turn_of = key
      return job
    elseif key.is_common then
      fair_turns.is_empty(key, listed)
    end
  end
end

-- The next job, expired or not; nil if there is none, or if this script has looked at enough entries.
local function next_job(list, wanted, types)
  local next_of = registry.fairness_of(list.number) and next_in_turn or next_in_order
  return next_of(list, wanted, types)
end

-- Jobs that expired: they end when they are found.
found_expired = 0

-- A job that is held costs as much as so many entries.
local PARKED_COST = 12

-- The next job that may be leased. Those whose key has no slot, or whose origin does not work, are held.
-- is_pushed: the lease is of a server that pushes. types: as queues/type_order has them.
function next_live(list, wanted, is_pushed, types)
  while true do
    local job = next_job(list, wanted, types)
    if job and is_expired(job) then
      found_expired = found_expired + 1
      moves.leave(job)
      moves.conclude(job, nil, "expired")
    elseif not job then
      return nil
    else
      local has_room = slots.has_slot(job)
      local origin = has_room and (is_pushed or job.x.ckey) and push_origins.closed_origin_of(job, is_pushed)
      if has_room and not origin then
        if job.turn_of then
          fair_turns.charge(list, job.turn_of, job)
        end
        return job
      end
      looked = looked + PARKED_COST
      at_lease.park(job, origin)
    end
  end
end
