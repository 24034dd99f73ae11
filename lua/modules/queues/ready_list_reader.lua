-- Ready lists as a script reads them from the head, and what it cuts off there: live entries that it took, stale ones, tombstones ("").
--- @requires core/call, core/header
--- @exports ready_lists, ready_list_of, read_window, stale_head, trim_ready_list

-- In the order in which they were opened.
ready_lists = {}
local by_number = {}
function ready_list_of(number)
  local list = by_number[number]
  if not list then
    redis.call("EXISTS", queue_key("r", number), queue_key("l", number), queue_key("g", number), queue_key("i", number))
    list = { number = number, taken = 0, window = {}, at = 1, size = 0, tombstones = 0, stale = {}, to_delete = {} }
    list.leased, list.scores, list.scored = {}, {}, 0
    by_number[number], ready_lists[#ready_lists + 1] = list, list
  end
  return list
end

-- A list is read in windows, each with the values of its jobs. Bodies may be long, and what follows is not known: so a window is at most twice
-- as long as the last one that had jobs, and holds about half a megabyte of bodies like those.
local FIRST_WINDOW, WINDOW_BYTES = 8, 524288
local next_size, last_size, last_values, last_count = FIRST_WINDOW, 0, {}, 0

-- Sets next_size by the last window. Most scripts read one window, so this is done when there is a next one.
local function measure()
  local bytes, found = 0, 0
  for i = 1, last_count do
    local value = last_values[i + 1]
    if value then
      bytes, found = bytes + #value, found + 1
    end
  end
  -- guard: stale-entries-measure-nothing
  if found > 0 then
    next_size = math.min(--[[ guard: list-windows-grow-by-two ]] math.max(last_size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))
  end
end

-- Reads the values together: in a slot that is moving, a job that has not arrived ends the script. The marker stands in for a tombstone, and
-- before all others, so that values[i + 1] belongs to entry i.
function read_window(list, wanted)
  measure()
  last_size = math.min(wanted, next_size)
  local window = redis.call("LRANGE", queue_key("r", list.number), list.taken, list.taken + last_size - 1)
  local ids, keys, sub, prefix = {}, { meta_key }, string.sub, base .. "j"
  for i, entry in ipairs(window) do
    local id = sub(entry, 1, -2)
    ids[i], keys[i + 1] = id, entry == "" and meta_key or prefix .. id
  end
  last_values, last_count = --[[ guard: lease-reads-jobs-together ]] redis.call("MGET", unpack(keys)), #window
  list.window, list.ids, list.keys, list.values, list.at, list.size = window, ids, keys, last_values, 1, last_count
end

-- The head of a ready list up to its first live entry, of at most so many entries, as trim_ready_list takes it. Counts may be wrong, in a store
-- that an older version has damaged: no list is deleted before this has found nothing live in it.
function stale_head(number, most)
  local head = { number = number, taken = 0, to_delete = {}, stale = {}, tombstones = 0 }
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), 0, most - 1)) do
    if entry == "" then
      head.tombstones = head.tombstones + 1
    elseif is_live_entry(read_job(string.sub(entry, 1, -2)), entry, number) then
      break
    else
      head.stale[#head.stale + 1] = entry
    end
    head.taken = head.taken + 1
  end
  return head
end

-- Drops the entries that were passed. Frees first: LTRIM never needs memory.
function trim_ready_list(list)
  if list.taken == 0 then
    return
  end
  redis.call("LTRIM", queue_key("r", list.number), list.taken, "-1")
  if #list.to_delete > 0 then
    redis.call("DEL", unpack(list.to_delete))
  end
  if #list.stale > 0 then
    redis.call("SREM", queue_key("g", list.number), unpack(list.stale))
  end
  if list.tombstones > 0 then
    redis.call("HINCRBY", queue_key("i", list.number), "blanks", -list.tombstones)
  end
end
