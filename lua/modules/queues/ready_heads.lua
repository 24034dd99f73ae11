-- The heads of the zsets that ready jobs of an extended queue are in: that of priorities, and those of types (queues/type_lists). A script takes jobs from
-- them in the one order of the queue.
--- @requires core/call, core/plan, queues/registry, queues/type_keys
--- @exports lowest_head, take_head

-- Members that are read at once.
local MOST_READ = 50

-- list: as queues/ready_list_reader has it. type: "" = none. What was taken leaves the zset when all is written: until then it is passed.
local function cursor_of(list, type, wanted)
  local cursor = list.cursors[type]
  if not cursor then
    cursor = { key = touch(type_keys.list_key(list.number, type ~= "" and type or nil)), read = 0, at = 1, members = {} }
    list.cursors[type] = cursor
  end
  if cursor.at > #cursor.members and not cursor.is_end then
    local most = math.min(wanted, MOST_READ)
    cursor.members, cursor.at = redis.call("ZRANGE", cursor.key, cursor.read, cursor.read + most - 1, "WITHSCORES"), 1
    cursor.read, cursor.is_end = cursor.read + most, #cursor.members < 2 * most
  end
  return cursor
end

local function head_of(list, type, wanted)
  local cursor = cursor_of(list, type, wanted)
  local id = cursor.members[cursor.at]
  return id and { cursor = cursor, id = id, score = tonumber(cursor.members[cursor.at + 1]) }
end

local function lower(one, other)
  return one and (not other or one.score < other.score) and one or other
end

-- The type of the next list in the directory, in the order of heads, that this script has not read; and the score of its head.
local function next_unread(list, wanted)
  local directory = list.directory
  if not directory then
    directory = { key = touch(type_keys.directory_key(list.number)), read = 0, at = 1, members = {} }
    list.directory = directory
  end
  while true do
    if directory.at > #directory.members then
      local most = math.min(wanted, MOST_READ)
      directory.members = redis.call("ZRANGE", directory.key, directory.read, directory.read + most - 1, "WITHSCORES")
      directory.at, directory.read = 1, directory.read + most
    end
    local type = directory.members[directory.at]
    if not type or not list.cursors[type] and not (list.paused_types and list.paused_types[type]) then
      return type, tonumber(directory.members[directory.at + 1])
    end
    directory.at = directory.at + 2
  end
end

-- The score of the head of a list that was not read, looked up once; false = it has no ready job.
local function unread_score(list, type)
  local score = list.head_scores[type]
  if score == nil then
    score = tonumber(redis.call("ZSCORE", touch(type_keys.directory_key(list.number)), type) or nil) or false
    list.head_scores[type] = score
  end
  return score
end

-- The lowest head of the lists that were read; the type of the unread list with the lowest head, and its score.
local function heads_of(list, wanted, types)
  local best, unread, lowest
  for _, type in ipairs(types) do
    -- To read the only list takes as long as to look its head up.
    local score = not list.cursors[type] and #types > 1 and unread_score(list, type)
    if list.cursors[type] or #types == 1 then
      best = lower(head_of(list, type, wanted), best)
    elseif score and (not lowest or score < lowest) then
      unread, lowest = type, score
    end
  end
  return best, unread, lowest
end

local function heads_of_all(list, wanted)
  local best
  for type in pairs(list.cursors) do
    best = lower(head_of(list, type, wanted), best)
  end
  return best, next_unread(list, wanted)
end

-- types: nil = any but list.paused_types. wanted: how many jobs the script may take. Returns nil if there is none.
function lowest_head(list, wanted, types)
  list.cursors, list.head_scores = list.cursors or {}, list.head_scores or {}
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

function take_head(head)
  head.cursor.at = head.cursor.at + 2
end
