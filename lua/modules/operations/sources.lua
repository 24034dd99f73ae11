-- The indexes that an operation walks, from the place where its last step ended: of each queue those of its states, or one index by tag, type, failure
-- group or worker. What a step takes away from the head of a ready list is cut off there; elsewhere it leaves stale entries, as any call does.
--- @requires core/call, core/header, core/plan, queues/walks, queues/ready_list_reader, jobs/schedule, jobs/filters, extended/jobs, operations/undo_records
--- @exports start_sources, looked, acted, count_acted, count_tried, is_full, walk_source, touch_source

-- looked: entries that this step has read. acted: jobs that it has changed.
looked, acted = 0, 0
local tried, most_looked, most_acted, most_tried = 0, 0, 0, 0
-- A head is cut off when all is written: until then no place behind it can be read.
local is_cut_short = false
function start_sources(scan_limit, limit, rated_limit)
  most_looked, most_acted, most_tried = scan_limit, rated_limit, limit
end

-- Also a job that is refused costs time: its dependents may be many.
function count_tried()
  tried = tried + 1
end

function count_acted()
  acted = acted + 1
end

function is_full()
  return looked >= most_looked or --[[ guard: operation-cuts-a-head-once ]] is_cut_short or acted >= most_acted or tried >= most_tried or filters.bytes_seen > filters.MOST_BYTES or undo_records.kept_bytes > filters.MOST_BYTES
end

function touch_source(key, number)
  redis.call("EXISTS", meta_key, key, number and queue_key("g", number) or meta_key, number and queue_key("i", number) or meta_key)
end

-- The entry of a far slot that was read last shows whether the pump has opened a part of the slot since: then the slot is read again from its head, and what
-- was opened comes with the near jobs.
local function is_moved(place, number)
  local last = tonumber(place.id)
  return place.mark ~= "" and redis.call("LRANGE", schedule.slot_key(number, place.at), last - 1, last - 1)[1] ~= place.mark
end

-- Up to `most` entries behind a place, and whether they are the last ones.
local function read_source(kind, key, place, most, number)
  -- guard: operation-reads-opened-slot-again
  if kind == "f" and place.at ~= "" and is_moved(place, number) then
    place.id = "0"
  end
  return walks.walk_index(kind, false, key, place.at, place.id, most, number)
end

-- Cuts off the head of a ready list, up to the entry at `last`. taken: entries of jobs that this step took away.
local function cut_head(number, last, taken)
  local list = ready_list_reader.ready_list_of(number)
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), 0, last)) do
    if entry == "" then
      list.tombstones = list.tombstones + 1
    elseif not taken[entry] then
      list.stale[#list.stale + 1] = entry
    end
  end
  list.taken = last + 1
  table.insert(plan.frees, 1, function()
    ready_list_reader.trim_ready_list(list)
  end)
end

-- Calls visit for a live job at the head of a ready list. Returns the job's entry if it has left the list.
local function visit_head(one, visit)
  local job = jobs.job_of(one[2])
  local entry = one[2] .. string.char(job.entry)
  job.is_taken = true
  visit(one[1], one[2], one[3])
  job.is_taken = nil
  return (job.is_gone or job.state ~= READY) and entry or nil
end

local function mark_of(kind, place, number)
  return kind == "f" and place.at ~= "" and redis.call("LRANGE", schedule.slot_key(number, place.at), place.id - 1, place.id - 1)[1] or ""
end

-- Entries that are read at once: most steps are full after a few. A head that is cut off must be read at once.
local MOST_READ = 50

-- Reads a source on from a place, which moves along; visit(job, id, score, due) for each live job; due: of a far one. takes: what the visit changes leaves the ready list, in every
-- case. Returns whether the end of the source was reached.
function walk_source(kind, key, number, place, takes, visit)
  local cut, taken = -1, {}
  local is_head = takes and kind == "r" and place.at == ""
  local most = math.min(most_looked - looked, is_head and most_looked or MOST_READ)
  local found, is_end = read_source(kind, key, place, most, number)
  for _, one in ipairs(found) do
    if is_full() then
      is_end = false
      break
    end
    looked, place.at, place.id = looked + 1, one[3], one[4]
    if is_head then
      local entry = one[1] and visit_head(one, visit)
      is_head = not one[1] or entry
      cut = is_head and tonumber(one[3]) or cut
      taken[entry or ""] = true
    elseif one[1] then
      visit(one[1], one[2], one[3], one[5])
    end
  end
  if cut >= 0 then
    cut_head(number, cut, taken)
    is_cut_short = not is_end
    local at = place.at - cut - 1
    place.at, place.id = at < 0 and "" or text_of(at), at < 0 and "" or place.id
  end
  place.mark = mark_of(kind, place, number)
  return is_end
end
