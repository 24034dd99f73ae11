-- Takes jobs away, whatever their state: plan_removal while reading, remove_planned when writing. Frees first.
local doomed, doomed_members, doomed_entries = {}, {}, {}
local function plan_removal(id, job)
  local kind = ({ [READY] = "g", [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" })[job.state]
  local key = queue_key(kind, job.queue)
  redis.call("EXISTS", meta, key)
  add_keys(doomed, id, job)
  -- A ready job's place in its list stays behind as a ghost, known by name: it is dropped by whoever meets it.
  local group = job.state == READY and doomed_entries or doomed_members
  local members = group[key] or {}
  group[key] = members
  members[#members + 1] = job.state == READY and id .. string.char(job.entry) or id
end

local function remove_planned()
  if #doomed > 0 then
    redis.call("DEL", unpack(doomed))
  end
  for key, members in pairs(doomed_members) do
    redis.call("ZREM", key, unpack(members))
  end
  for key, entries in pairs(doomed_entries) do
    redis.call("SADD", key, unpack(entries))
  end
end
