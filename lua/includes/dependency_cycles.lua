-- Cycles of dependencies. Edges that this script will write are kept here, because it cannot read them yet.
local MOST_WAYS, new_ways = 1000, { n = {}, u = {} }
local function add_edge(kind, id, other)
  local ways = new_ways[kind]
  ways[id] = ways[id] or {}
  table.insert(ways[id], other)
end

-- Ids one step away: n and m are dependencies, u dependents. Returns nil if they are too many.
local function next_to(kinds, id)
  local keys, size = {}, 0
  for kind in string.gmatch(kinds, ".") do
    keys[#keys + 1] = named_key(kind, id)
    size = size + redis.call("SCARD", keys[#keys])
  end
  local ids = size <= MOST_WAYS and redis.call("SUNION", unpack(keys)) or nil
  for _, other in ipairs(ids and new_ways[string.sub(kinds, 1, 1)][id] or {}) do
    ids[#ids + 1] = other
  end
  return ids
end

-- Whether a path leads from some jobs to one of others; nil if the search is too long.
local function leads(from, goals, kinds)
  local seen, queue, at = {}, { unpack(from) }, 1
  while at <= #queue do
    local ids = not goals[queue[at]] and #queue <= MOST_WAYS and next_to(kinds, queue[at])
    if not ids then
      return goals[queue[at]] or nil
    end
    for _, id in ipairs(ids) do
      if not seen[id] then
        seen[id], queue[#queue + 1] = true, id
      end
    end
    at = at + 1
  end
  return false
end
