--[[
List jobs of some indexes, one after the other, from a place in the first one on: one bounded step. Changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, parts, filter, at, id, limit, scan_limit
parts: text          JSON: {kind, name, is_back, from, to} × N, the indexes in the order of the list. Kind: a letter of core/call; t, y, F, w: by tag, type,
                     group, worker; stalled: of w, those whose lease ended; tracked. Name: queue, tag, type, group or worker. Is_back: from the end of the
                     index to its beginning. From, to: lowest and highest score
filter: text         JSON: what else must hold (jobs/filters)
at: text             score of the last member of the first index that was looked at, or its place in the list of kind r; "" = from the first one on
id: text             its id; "" = from the first of that score on
limit: integer       jobs to show, at most
scan_limit: integer  members and indexes to read, at most

Returns {status, now_ms, part, at, id, (id, header, queue, score, fields) × N}. Part: the index where to go on, 0 = the first of `parts`, N = all were read to
their ends; at, id: the place in it, at "" = its beginning. Score: in the index of the job's state, "" = none. Fields: JSON.
Cost: O(scan_limit).
]]

--- @requires core/call, core/header, queues/registry, queues/walks, extended/indexes, jobs/filters

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local wanted, reply, shown, left = cjson.decode(filter), { 0, now_floor, 0, "", "" }, 0, scan_limit

-- The key of an index, and the number of its queue; no key = the queue does not exist.
local function index_of(kind, name)
  if kind == "tracked" then
    return namespace_key(kind)
  elseif string.find("tyFw", kind, 1, true) then
    return namespace_key(kind .. ":" .. name)
  end
  local number = registry.find_queue(name)
  return number and queue_key(kind, number), number
end

local function show(job, fields, one)
  local n, state_kind = #reply, indexes.kind_of(job)
  reply[n + 1], reply[n + 2], reply[n + 3] = one, pack_job(job), registry.name_of(job.queue) or ""
  reply[n + 4] = state_kind and redis.call("ZSCORE", queue_key(state_kind, job.queue), one) or ""
  reply[n + 5], shown = cjson.encode(fields), shown + 1
end

local function has_enough()
  return shown == limit or filters.bytes_seen > filters.MOST_BYTES
end

-- Reads an index from the place in the reply on. Returns true at its end.
local function list_part(kind, name, is_back, from, to)
  if kind == "stalled" then
    -- The index is in the order of the ends of leases: what is leased now lies behind, and is never read.
    kind, to = "w", --[[ guard: stalled-list-stops-before-leased ]] now_floor
  end
  local key, number = index_of(kind, name)
  if not key then
    return true
  end
  redis.call("EXISTS", meta, key)
  local found, is_end = walks.walk_index(kind, is_back, key, reply[4], reply[5], left, number, to)
  left = left - #found
  for _, place in ipairs(found) do
    local job, one, score = place[1], place[2], tonumber(place[3])
    if not is_back and to and score > to or is_back and from and score < from then
      return true
    elseif has_enough() then
      return false
    end
    local fields = job and not is_expired(job) and filters.fields_of(job, one)
    if fields and filters.matches(job, fields, wanted) then
      show(job, fields, one)
    end
    reply[4], reply[5] = place[3], place[4]
  end
  return is_end
end

for i, part in ipairs(cjson.decode(parts)) do
  local kind, name, is_back, from, to = unpack(part)
  from, to = from ~= cjson.null and from, to ~= cjson.null and to
  -- From the end, an index is read from its last score on, which walk_index knows.
  local is_resumed = i == 1 and at ~= ""
  reply[4] = is_resumed and at or not is_back and from and text_of(from) or ""
  reply[5] = is_resumed and id or ""
  if not list_part(kind, name, is_back, from, to) then
    break
  end
  -- Behind the part: a walk of 0 members would read its whole index.
  left = left - 1
  reply[3], reply[4], reply[5] = i, "", ""
  if left < 1 or has_enough() then
    break
  end
end
return reply
