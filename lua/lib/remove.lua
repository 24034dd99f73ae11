-- Takes jobs away, whatever their state: plan_removal while reading, remove_planned when writing. Frees first.
local doomed, places = {}, {}
local KIND_OF = { [READY] = "g", [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
local function plan_removal(id, job)
  if doomed[id] then
    return
  end
  doomed[id] = true
  local kind = KIND_OF[job.state]
  local key = queue_key(kind, job.queue)
  local place = places[key]
  if not place then
    redis.call("EXISTS", meta, key, queue_key("i", job.queue))
    place = { kind = kind, number = job.queue, members = {} }
    places[key] = place
  end
  add_keys(doomed, id, job)
  -- A ready job's place in its list stays behind as a ghost, known by name: it is dropped by whoever meets it.
  place.members[#place.members + 1] = kind == "g" and id .. string.char(job.entry) or id
end

local function remove_planned()
  if #doomed > 0 then
    redis.call("DEL", unpack(doomed))
  end
  for key, place in pairs(places) do
    if place.kind == "g" then
      redis.call("SADD", key, unpack(place.members))
    else
      local found = redis.call("ZREM", key, unpack(place.members))
      -- Scheduled jobs that are not there stand in the list of a far slot, where their entries mean nothing from now on.
      if found < #place.members then
        redis.call("HINCRBY", queue_key("i", place.number), "far", found - #place.members)
      end
    end
  end
end
