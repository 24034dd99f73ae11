-- Unique keys. The string of a key has the time until which it is held whatever happens to its job (Unix ms, 0 = as long as the job lives), a space and the
-- job's id. A job that has ended holds nothing, even if its key is still there.
--- @requires core/call, core/header, core/plan, extended/jobs
--- @exports FORMER_KEY, OWN_KEY, holder_of, hold_unique, free_unique, retake_unique, rename_unique

-- The key that keeps the jobs of a recurring job apart: this and its id. No caller's key begins with that byte (src/domain/job/extended-job.ts). Earlier
-- servers took FORMER_KEY and the id, which a caller may choose too.
FORMER_KEY, OWN_KEY = "recurring:", "\1recurring:"

local records = {}
local function record_of(key)
  if records[key] == nil then
    local text = redis.call("GET", touch(named_key("o", key)))
    local space = text and string.find(text, " ", 1, true)
    records[key] = space and { ends = tonumber(string.sub(text, 1, space - 1)), id = string.sub(text, space + 1) } or false
  end
  return records[key] or nil
end

-- The holder of a key now: its record, with the job if it lives.
function holder_of(key)
  local record = record_of(key)
  local job = record and not record.is_new and jobs.job_of(record.id)
  local lives = job and not job.is_gone and not is_expired(job) and job.state ~= DEAD and job.state < DONE and job.x.unique == key
  if record and (record.is_new or --[[ guard: unique-window-outlives-job ]] record.ends > now_floor or record.ends == 0 and --[[ guard: expired-holds-no-key ]] lives) then
    record.job = lives and job or nil
    return record
  end
end

function hold_unique(key, id, window_ms)
  local ends = window_ms > 0 and now_ceil + window_ms or 0
  records[key] = { ends = ends, id = id, is_new = true }
  -- The TTL only removes what has ended: the time in the string counts.
  write("SET", named_key("o", key), text_of(ends) .. " " .. id, unpack(ends > 0 and { "PX", text_of(window_ms + 1000) } or {}))
  return ends
end

function free_unique(job)
  local record = job.x.unique and record_of(job.x.unique)
  -- An expired job whose id and key a new job of this script takes has nothing left to free.
  if record and --[[ guard: frees-own-unique-key ]] record.id == job.id and record.ends == 0 and not (record.is_new and is_expired(job)) then
    local let = record.is_new and write or free
    let("DEL", named_key("o", job.x.unique))
    records[job.x.unique] = false
  end
end

-- Its job takes another key in the place of the one that it holds.
function rename_unique(job, key)
  write("DEL", named_key("o", job.x.unique))
  write("SET", named_key("o", key), "0 " .. job.id)
  records[job.x.unique], records[key] = false, { ends = 0, id = job.id }
  jobs.put(job, "unique", key)
end

-- A dead job that is put back takes its unique key again. Returns false if another job holds the key by now: then it must stay dead.
function retake_unique(job)
  if job.x.spawned and --[[ guard: own-key-respawned ]] job.x.unique == FORMER_KEY .. job.x.spawned then
    jobs.put(job, "unique", OWN_KEY .. job.x.spawned)
  end
  local key = not job.x.uends and job.x.unique
  local holder = key and holder_of(key)
  if holder and holder.id ~= job.id then
    return false
  elseif key then
    hold_unique(key, job.id, 0)
  end
  return true
end
