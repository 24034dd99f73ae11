-- Takes jobs away, whatever their state: plan_removal while reading, remove_planned when writing. Frees first.
local doomed, places = {}, {}
local KIND_OF = { [READY] = "g", [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
local function place_of(state, number)
  local place = places[number * 8 + state]
  if not place then
    place = { kind = KIND_OF[state], key = queue_key(KIND_OF[state], number), number = number, members = {} }
    redis.call("EXISTS", meta, place.key, queue_key("i", number))
    places[number * 8 + state] = place
  end
  return place
end

local function plan_removal(id, state, number, entry, flags)
  if not doomed[id] then
    doomed[id] = true
    doom(doomed, id, flags)
    local members = place_of(state, number).members
    -- A ready job's place in its list stays behind as a ghost, known by name: it is dropped by whoever meets it.
    members[#members + 1] = state == READY and id .. string.char(entry) or id
  end
end

local function remove_planned()
  if #doomed > 0 then
    redis.call("DEL", unpack(doomed))
  end
  for _, place in pairs(places) do
    if place.kind == "g" then
      redis.call("SADD", place.key, unpack(place.members))
    elseif #place.members > 0 then
      local found = redis.call("ZREM", place.key, unpack(place.members))
      -- Scheduled jobs that are not there stand in the list of a far slot, where their entries mean nothing from now on.
      if found < #place.members then
        redis.call("HINCRBY", queue_key("i", place.number), "far", found - #place.members)
      end
    end
  end
end
