-- The way into ready lists: every job that becomes ready passes here, whatever its priority. Entries are planned while the script reads, and
-- pushed when it writes. An entry is the job's id and an entry number, one byte.
--- @requires core/call, core/header, queues/notify
--- @exports entries_for, next_entry_number, add_entry, track_expiry, make_ready, push_entries, write_ready_lists

-- What a script adds to the ready list of a queue. name: the queue's.
local additions = {}
function entries_for(number, name)
  local list = additions[number]
  if not list then
    list = { number = number, name = name, stale_key = queue_key("g", number), entries = {}, size = 0, expires = 0 }
    additions[number] = list
  end
  return list
end

-- All 255 numbers of an id are in use by stale entries of the list. Makes a tombstone of the oldest entry, whose number is the next one, so
-- that the number can be used again. O(entries before it); only an id that left the list by name 255 times gets here. Frees first.
local function free_number(list, entry)
  local ready, facts = queue_key("r", list.number), queue_key("i", list.number)
  redis.call("EXISTS", meta_key, ready, facts)
  redis.call("SREM", list.stale_key, entry)
  local at = redis.call("LPOS", ready, entry)
  if at then
    -- guard: used-up-entry-numbers-are-freed
    redis.call("LSET", ready, at, "")
    redis.call("HINCRBY", facts, "blanks", 1)
  end
end

-- The only source of entry numbers. entry: the job's last number. A number above it makes the job's old entry stale. The list may also have
-- stale entries of an earlier job with the same id: their numbers are skipped, or such an entry would be live again and the job leased twice.
-- Numbers are 1 to 255; 0 is for entries of far slots (jobs/schedule).
function next_entry_number(list, id, entry)
  entry = entry % 255 + 1
  if list.size == 0 then
    -- Not before: this script may have removed a job from this list, and so made a stale entry.
    list.has_stale = redis.call("EXISTS", list.stale_key) == 1
  end
  local first = entry
  while --[[ guard: ready-list-skips-stale ]] list.has_stale and redis.call("SISMEMBER", list.stale_key, id .. string.char(entry)) == 1 do
    entry = entry % 255 + 1
    if entry == first then
      free_number(list, id .. string.char(entry))
    end
  end
  return entry
end

-- Returns the number of the new entry.
function add_entry(list, id, entry)
  entry = next_entry_number(list, id, entry)
  list.size = list.size + 1
  list.entries[list.size] = id .. string.char(entry)
  return entry
end

-- Keeps the earliest expiry of the new entries, for the janitor.
function track_expiry(list, expires)
  if expires > 0 and (list.expires == 0 or expires < list.expires) then
    list.expires = expires
  end
end

function make_ready(number, name, id, job)
  local list = entries_for(number, name)
  job.state, job.entry = READY, add_entry(list, id, job.entry)
  track_expiry(list, job.expires)
end

-- command: "RPUSH" = to the end of the list, "LPUSH" = to its front. expiries: key of the earliest expiries.
function push_entries(command, expiries, number, list)
  redis.call(command, queue_key("r", number), unpack(list.entries))
  if list.expires > 0 then
    redis.call("ZADD", expiries, "LT", list.expires, number)
  end
  notify(list.name)
end

function write_ready_lists(command, expiries)
  for number, list in pairs(additions) do
    if list.size > 0 then
      push_entries(command, expiries, number, list)
    end
  end
end
