-- Takes jobs away, whatever their state: plan_removal while the script reads, remove_planned when it writes. Frees first.
--- @requires core/call, core/header, limits/beside_bytes
--- @exports freed_bytes, mark_for_deletion, return_freed_bytes, to_delete, index_of, plan_removal, remove_planned

-- Adds the keys of a job that goes for good to a list, and counts its bytes if they count for the quota: the job's own flag says so.
freed_bytes = 0
function mark_for_deletion(keys, id, flags)
  add_keys(keys, id, flags)
  if flags >= COUNTED then
    freed_bytes = freed_bytes + redis.call("STRLEN", job_key(id)) - HEADER_BYTES + --[[ guard: removal-frees-beside ]] beside_bytes.beside_in_sum(id, flags)
  end
end

-- After the jobs have gone.
function return_freed_bytes()
  if freed_bytes > 0 then
    -- guard: quota-bytes-returned
    redis.call("HINCRBY", meta_key, "bytes", -freed_bytes)
  end
end

-- Keys, in a list; and the ids whose removal is planned, as keys of the same table.
to_delete = {}
local indexes = {}
local KIND_OF = { [READY] = "g", [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }

-- The members that go from the index of a state.
function index_of(state, number)
  local index = indexes[number * 8 + state]
  if not index then
    index = { kind = KIND_OF[state], key = queue_key(KIND_OF[state], number), number = number, members = {} }
    -- guard: removal-touches-first
    redis.call("EXISTS", meta_key, index.key, queue_key("i", number))
    indexes[number * 8 + state] = index
  end
  return index
end

function plan_removal(id, state, number, entry, flags)
  -- guard: removal-planned-once
  if not to_delete[id] then
    to_delete[id] = true
    mark_for_deletion(to_delete, id, flags)
    local members = index_of(state, number).members
    -- The entry of a ready job stays in the list, as a stale one that is known by name: the script that reads it drops it.
    members[#members + 1] = state == READY and id .. string.char(entry) or id
  end
end

function remove_planned()
  if #to_delete > 0 then
    redis.call("DEL", unpack(to_delete))
  end
  for _, index in pairs(indexes) do
    if index.kind == "g" then
      redis.call("SADD", index.key, unpack(index.members))
    elseif --[[ guard: removal-skips-empty-index ]] #index.members > 0 then
      local found = redis.call("ZREM", index.key, unpack(index.members))
      -- Scheduled jobs that are not there are in the list of a far slot, where their entries mean nothing from now on.
      -- guard: far-removal-counted
      if found < #index.members then
        redis.call("HINCRBY", queue_key("i", index.number), "far", found - #index.members)
      end
    end
  end
end
