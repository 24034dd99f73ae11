-- Whether a job of a batch is within the quotas (limits/call_quotas).
--- @requires core/call, core/header, queues/registry, queues/job_counts, limits/call_quotas, limits/beside_bytes
--- @requires core/plan, limits/kept_keys
--- @exports has_quotas, counted_flag, start_quotas, add_room, has_room_for_queue, new_beside_bytes, room_for_job, room_for_growth, has_room_for_keys, room_for_keys, first_refusal

-- counted_flag: of new jobs, if their bytes count.
has_quotas, counted_flag = false, 0
local max_queues, max_jobs, max_bytes, max_keys = "0", "0", "0", "0"
local new_room = 0
local bytes_room = 0

-- text: as limits/call_quotas has it.
function start_quotas(text)
  if text ~= "" then
    has_quotas = true
    max_queues, max_jobs, max_bytes, max_keys = call_quotas.read_quotas(text)
    counted_flag = max_bytes ~= "0" and COUNTED or 0
    new_room = call_quotas.room_for(max_queues, redis.call("HLEN", queues_key))
    bytes_room = call_quotas.room_for(max_bytes, redis.call("HGET", meta_key, "bytes") or 0)
  end
end

-- What this script takes out of a queue, before it stores.
local room, freed_room = {}, {}
function add_room(number, jobs, bytes)
  bytes_room = bytes_room + bytes
  freed_room[number] = (freed_room[number] or 0) + jobs
  room[number] = room[number] and room[number] + jobs
end

local refused_code, refused_present = 0, nil
local function refuse(code, present)
  if not refused_present then
    refused_code, refused_present = string.byte(code) - 48, string.format("%.0f", present)
  end
end

-- Of the first job that was refused: why, and how much there was, as text; 0 and nil = none was.
function first_refusal()
  return refused_code, refused_present
end

-- Whether the queue is there, or may be made.
function has_room_for_queue(name)
  local has_room = --[[ guard: recurring-obeys-queue-quota ]] not has_quotas or new_room >= 1 or registry.find_queue(name) ~= nil
  if not has_room then
    refuse("2", max_queues - new_room)
  end
  return has_room
end

-- What a new job will have beside its body, by its options as commands/extended/publish has them.
function new_beside_bytes(options)
  if counted_flag == 0 then
    return 0
  end
  return beside_bytes(options.x, beside_bytes.entry_bytes(options.queue) + beside_bytes.BYTES_OF_EDGE * #(options.needs or {}))
end

-- Takes room for one job, unless it is refused: "0" there is some, "2" too many queues, "3" its queue is full, "4" the namespace is.
function room_for_job(number, bytes)
  if not has_quotas then
    return "0"
  end
  local made = 0
  if not room[number] then
    made = number >= registry.first_new_queue and 1 or 0
    new_room = new_room - made
    room[number] = max_jobs == "0" and math.huge or call_quotas.room_for(max_jobs, job_counts.count_jobs(number, job_counts.ALL_INDEXES)) + (freed_room[number] or 0)
  end
  room[number], bytes_room = room[number] - 1, bytes_room - bytes
  local code = new_room < 0 and "2" or room[number] < 0 and "3" or bytes_room < 0 and "4" or "0"
  if code ~= "0" then
    -- Before this job took its part.
    refuse(code, code == "2" and max_queues - new_room - 1 or code == "3" and max_jobs - room[number] - 1 or max_bytes - bytes_room - bytes)
    -- guard: refused-job-takes-no-room
    new_room, bytes_room, room[number] = new_room + made, bytes_room + bytes, made == 0 and room[number] + 1 or nil
  end
  return code
end

-- Room for a body that takes the place of another in its job: a code as above.
function room_for_growth(bytes)
  if not has_quotas or bytes <= 0 or bytes <= bytes_room then
    bytes_room = bytes_room - bytes
    return "0"
  end
  refuse("4", max_bytes - bytes_room)
  return "4"
end

-- How long the keys last that outlive a new job: its unique key, if it is held for a time; and one for it in the record of an idempotency key. record_ms:
-- how long that lasts, nil = there is none.
local function lasting_keys(options, record_ms)
  local lasting = { record_ms }
  if options.unique and options.unique.window_ms > 0 then
    lasting[#lasting + 1] = options.unique.window_ms
  end
  return has_quotas and max_keys ~= "0" and lasting or {}
end

-- Whether room_for_keys would find room: it takes none.
local keys_room
function has_room_for_keys(options, record_ms)
  local lasting = lasting_keys(options, record_ms)
  if #lasting == 0 then
    return true
  end
  keys_room = keys_room or call_quotas.room_for(max_keys, kept_keys.count_kept_keys())
  if --[[ guard: held-keys-within-quota ]] keys_room < #lasting then
    refuse(":", max_keys - keys_room)
    return false
  end
  return true
end

-- Takes room for these keys, and plans to count them. A code as above, or ":".
function room_for_keys(options, record_ms)
  if not has_room_for_keys(options, record_ms) then
    return ":"
  end
  local lasting = lasting_keys(options, record_ms)
  keys_room = #lasting > 0 and keys_room - #lasting or keys_room
  for _, ttl_ms in ipairs(lasting) do
    plan.lasts[#plan.lasts + 1] = function()
      kept_keys.keep_keys(1, ttl_ms)
    end
  end
  return "0"
end
