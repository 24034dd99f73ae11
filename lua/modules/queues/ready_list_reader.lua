-- Ready lists as a script reads them from the head, and what it cuts off there: live entries that it took, stale ones, tombstones ("").
--- @requires core/call, core/header, jobs/value_windows
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

-- Reads a window of the list, with the values of its jobs. The marker stands in for a tombstone.
function read_window(list, wanted)
  local window = redis.call("LRANGE", queue_key("r", list.number), list.taken, list.taken + value_windows.window_size(wanted) - 1)
  local ids, keys, sub, prefix = {}, { meta_key }, string.sub, base .. "j"
  for i, entry in ipairs(window) do
    local id = sub(entry, 1, -2)
    ids[i], keys[i + 1] = id, entry == "" and meta_key or prefix .. id
  end
  list.window, list.ids, list.keys, list.values, list.at, list.size = window, ids, keys, value_windows.read_job_values(keys), 1, #window
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
