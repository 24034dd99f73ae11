-- What happens to a new job whose unique key is held, and to the job that holds it. Of several jobs of one call, the first keeps the key.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/unique_keys, extended/moves, extended/own_url
--- @requires limits/quota_room
--- @exports free_room_of, conclude_replaced, claim_key, may_take_key, place_debounced

-- Waiting jobs that start to wait again, with other data. If several publishes of one script debounce a job, the last one counts.
local debounced = {}
local function take_out(job)
  if --[[ guard: entering-job-frees-its-slot ]] not debounced[job] or --[[ guard: debounced-blocked-job-leaves ]] job.state == BLOCKED then
    moves.leave(job) -- Also a job that is about to enter its ready list: it has a slot.
  end
end

local function debounce(job, options, body)
  if job.state ~= BLOCKED then
    take_out(job)
    jobs.put(job, "place", nil)
  end
  debounced[job] = { options = options, body = body }
end

-- When it is clear that the whole batch is stored.
function place_debounced()
  for job, with in pairs(debounced) do
    local options = with.options
    local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
    at = at > now_floor and at or nil
    if not job.is_gone then
      jobs.replace_typed_body(job, with.body, options.x.ctype, true)
      -- guard: debounce-takes-the-ttl
      jobs.set_ttl(job, options.ttl_ms)
      jobs.put(job, "due", at)
      -- guard: debounced-stays-blocked
      if job.state ~= BLOCKED then
        moves.go(job, at and SCHEDULED or READY, at)
      end
      timeline.log_event("debounced", job, { due = at })
    end
  end
end

local NO_ROOM_NEEDED = { [DONE] = true, [CANCELLED] = true }

-- The room of a job that goes counts for the new one.
function free_room_of(job)
  -- guard: put-frees-quota
  if quota_room.has_quotas then
    quota_room.add_room(job.queue, NO_ROOM_NEEDED[job.state] and 0 or 1, job.flags >= COUNTED and jobs.body_bytes_of(job) + (job.x.beside or 0) or 0)
  end
end

-- A job ends because one of this queue takes its place.
function conclude_replaced(job, queue)
  local from = registry.name_of(job.queue)
  moves.conclude(job, nil, "replaced", from ~= queue and { queue = queue, from = from } or nil)
end

local function keeps_key(holder)
  return --[[ guard: unique-first-of-call ]] holder.is_new or --[[ guard: leased-job-is-not-replaced ]] holder.job and holder.job.state == LEASED
end

-- "0": the new job gets the key; "5": it is refused; "6": the holder stands for it.
local function replace_holder(holder, options)
  if keeps_key(holder) then
    return "5"
  elseif holder.job then
    -- guard: replaced-job-frees-quota
    free_room_of(holder.job)
    take_out(holder.job)
    conclude_replaced(holder.job, options.queue)
  end
  return "0"
end

local function debounce_holder(holder, options, body)
  if not holder.job or holder.job.state == LEASED then
    return "5"
  elseif --[[ guard: job-push-url-debounced ]] own_url.lacks_push(holder.job, options.unique) then
    return ";"
  end
  debounce(holder.job, options, body)
  return "6"
end

local UNIQUE_MODES = { reject = "5", existing = "6" }

-- A job that holds its key for a window may have ended: its state is not given either.
local function is_foreign(holder, options)
  local its = options.unique.own_queue and not holder.is_new and jobs.job_of(holder.id)
  return its and its.queue ~= registry.find_queue(options.queue)
end

-- Whether claim_key will give the job its key. It changes nothing: so a job that gets none needs no room.
function may_take_key(options)
  local holder = options.unique and unique_keys.holder_of(options.x.unique)
  return not holder or options.unique.mode == "replace" and not keeps_key(holder) and not is_foreign(holder, options)
end

-- Whether a new job gets its unique key: "0" it does; else a code as above, and with 5 and 6 the holder's id; ";" the caller may not change it.
-- own_key: of the job with this id that it replaces.
function claim_key(options, id, body, own_key)
  local unique, key = options.unique, options.x and options.x.unique
  local holder, code = unique and unique_keys.holder_of(key), "0"
  -- Also if the holder has the same id: it was another job, whose window still holds the key.
  -- guard: unique-window-holds-for-its-own-id
  if holder and not (own_key and own_key == key and holder.id == id) then
    local way = UNIQUE_MODES[unique.mode] or unique.mode == "replace" and replace_holder or debounce_holder
    local is_hidden = is_foreign(holder, options)
    code = --[[ guard: unique-key-of-one-queue ]] --[[ guard: existing-hides-other-queues ]] is_hidden and "5" or type(way) == "string" and way or way(holder, options, body)
  end
  if unique and code == "0" then
    local ends = unique_keys.hold_unique(key, id, unique.window_ms)
    options.x.uends = ends > 0 and text_of(ends) or nil
  end
  return code, (code == "5" or code == "6") and holder.id or nil
end
