--[[
List jobs of one index from a place on, one bounded step; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, kind, name, filter, at, id, limit, scan_limit, order
kind: text           of the index: a letter of core/call; t, y, F, w: by tag, type, group, worker; stalled: of w, those whose lease ended; tracked
name: text           queue, tag, type, group or worker; "" = none
filter: text         JSON: what else must hold (jobs/filters); first, to: lowest and highest score
at: text             score of the last member that was looked at, or its place in the list of kind r; "" = from the first one in this order
id: text             its id; "" = from the first of that score on
limit: integer       jobs to show, at most
scan_limit: integer  members to read, at most
order: text          "newest": from the end of the index to its beginning; "" = from the beginning on

Returns {status, now_ms, at, id, (id, header, queue, score, fields) × N}. At, id: where to go on, at "" = the end is reached. Score: in the index of
the job's state, "" = none. Fields: JSON.
Cost: O(scan_limit).
]]

--- @requires core/call, core/header, queues/registry, queues/walks, extended/indexes, jobs/filters

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local wanted, number = cjson.decode(filter), nil
if kind == "stalled" then
  -- The index is in the order of the ends of leases: what is leased now lies behind, and is never read.
  kind, wanted.to = "w", --[[ guard: stalled-list-stops-before-leased ]] now_floor
end
local is_by_name = string.find("tyFw", kind, 1, true)
if not is_by_name and kind ~= "tracked" then
  number = registry.find_queue(name)
  if not number then
    return { 0, now_floor, "", "" }
  end
end
local key = number and queue_key(kind, number) or namespace_key(is_by_name and kind .. ":" .. name or kind)
redis.call("EXISTS", meta, key)
local is_back = order == "newest"
local found, is_end = walks.walk_index(kind, is_back, key, at, id, scan_limit, number, wanted.to)
local reply, shown, is_over = { 0, now_floor, "", "" }, 0, is_end
for _, place in ipairs(found) do
  local job, one = place[1], place[2]
  local has_enough = shown == limit or filters.bytes_seen > filters.MOST_BYTES
  local score = tonumber(place[3])
  if has_enough or not is_back and wanted.to and score > wanted.to or is_back and wanted.first and score < wanted.first then
    is_over = not has_enough
    break
  end
  local fields = job and not is_expired(job) and filters.fields_of(job, one)
  if fields and filters.matches(job, fields, wanted) then
    local n, state_kind = #reply, indexes.kind_of(job)
    reply[n + 1], reply[n + 2], reply[n + 3] = one, pack_job(job), registry.name_of(job.queue) or ""
    reply[n + 4] = state_kind and redis.call("ZSCORE", queue_key(state_kind, job.queue), one) or ""
    reply[n + 5], shown = cjson.encode(fields), shown + 1
  end
  reply[3], reply[4] = place[3], place[4]
end
if is_over then
  reply[3], reply[4] = "", ""
end
return reply
