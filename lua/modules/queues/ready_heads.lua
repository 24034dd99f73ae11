-- The heads of the zsets that ready jobs of an extended queue are in: that of priorities, and those of types (queues/type_lists). A script takes jobs from
-- them in the one order of the queue.
--- @requires core/call, core/plan, queues/registry, queues/zset_reader, queues/type_keys, extended/jobs
--- @exports lowest_head, take_head

-- list: as queues/ready_list_reader has it. type: "" = none.
local function head_of(list, type, wanted)
  local reader = list.readers[type] or zset_reader.open_reader(type_keys.list_key(list.number, type ~= "" and type or nil))
  list.readers[type] = reader
  local id, score = zset_reader.read_head(reader, wanted)
  return id and { reader = reader, id = id, score = score }
end

local function lower(one, other)
  return one and (not other or one.score < other.score) and one or other
end

-- The type of the next list in the directory, in the order of heads, that this script has not read; and the score of its head.
local function next_unread(list, wanted)
  local directory = list.directory or zset_reader.open_reader(type_keys.directory_key(list.number))
  list.directory = directory
  while true do
    local type, score = zset_reader.read_head(directory, wanted)
    if not type or not list.readers[type] and not (list.paused_types and list.paused_types[type]) then
      return type, score
    end
    zset_reader.pass_head(directory)
  end
end

-- Those of several types that have ready jobs, and the scores of their heads by type. Looked up once: this script adds none.
local function present_types(list, types)
  local present = list.present[types]
  if not present then
    local directory = touch(type_keys.directory_key(list.number))
    local heads, scores = redis.call("ZRANGE", directory, 0, #types, "WITHSCORES"), {}
    for i = 1, #heads, 2 do
      scores[heads[i]] = tonumber(heads[i + 1])
    end
    -- A queue of more types than these.
    local has_more = #heads > 2 * #types
    present = { scores = scores }
    for _, type in ipairs(types) do
      if has_more and not scores[type] then
        scores[type] = tonumber(redis.call("ZSCORE", directory, type) or nil)
      end
      if scores[type] or type == "" then
        present[#present + 1] = type
      end
    end
    list.present[types] = present
  end
  return present
end

-- The lowest head of the lists that were read; the type of the unread list with the lowest head, and its score.
local function heads_of(list, wanted, types)
  -- To read the only list takes as long as to look its head up.
  if #types == 1 then
    return head_of(list, types[1], wanted)
  end
  local present, best, unread, lowest = present_types(list, types), nil, nil, nil
  for _, type in ipairs(present) do
    local score = present.scores[type]
    if list.readers[type] then
      best = lower(head_of(list, type, wanted), best)
    elseif not lowest or score < lowest then
      unread, lowest = type, score
    end
  end
  return best, unread, lowest
end

local function heads_of_all(list, wanted)
  local best
  for type in pairs(list.readers) do
    best = lower(head_of(list, type, wanted), best)
  end
  return best, next_unread(list, wanted)
end

-- types: nil = any but list.paused_types. wanted: how many jobs the script may take. Returns nil if there is none.
function lowest_head(list, wanted, types)
  list.readers, list.present = list.readers or {}, list.present or {}
  local has_untyped = (not types or types[""]) and not (list.paused_types and list.paused_types[""])
  local untyped = has_untyped and head_of(list, "", wanted) or nil
  if not registry.is_by_type(list.number) then
    return untyped
  end
  local best, unread, lowest
  if types then
    best, unread, lowest = heads_of(list, wanted, types)
  else
    best, unread, lowest = heads_of_all(list, wanted)
  end
  if unread and (not best or lowest < best.score) then
    best = lower(head_of(list, unread, wanted), best)
  end
  return best
end

-- The job of a head that lowest_head returned.
function take_head(head)
  local job = jobs.job_of(head.id, zset_reader.value_of_head(head.reader))
  zset_reader.pass_head(head.reader)
  return job
end
