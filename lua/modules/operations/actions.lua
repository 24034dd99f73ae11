-- What an operation does with one job: the same as the single call of its action. Each returns why that call would refuse the job, nil = it is done; and true
-- if there was nothing to do.
--- @requires core/header, extended/jobs, extended/cancels, extended/deletion, extended/moves, extended/changes, extended/dead_jobs
--- @requires queues/registry, jobs/dependents, limits/byte_room
--- @exports act

local function cancel_one(job, options)
  if --[[ guard: operation-cancels-once ]] job.x.cancel then
    return "already_cancelled", true
  elseif not options.cascade and --[[ guard: operation-keeps-needed-jobs ]] dependents.has_dependents(job) then
    return "has_dependents"
  end
  cancels.cancel_job(job, options.cascade, options.grace_ms, options.operation)
end

local KEPT = { [0] = "gone", [2] = "leased", [3] = "has_dependents" }
local function delete_one(job)
  local code = deletion.why_kept(job, false, false)
  if code then
    return KEPT[code]
  end
  moves.remove(job)
end

local function put_back(job, options, tries, queue)
  return dead_jobs.respawn(job, { ttl_ms = options.ttl_ms, tries = tries, queue = queue, no_push = options.no_push,
    most_queues = options.most_queues, most_jobs = options.most_jobs, operation = options.operation })
end

local function respawn_one(job, options)
  return put_back(job, options, options.tries)
end

local REFUSALS = { [0] = "gone", [2] = "not_waiting", [5] = "due_unknown", [6] = "tries_used", [8] = "verb_missing", [10] = "too_many_queues", [11] = "queue_full" }
local function change_one(job, wish, options)
  wish.operation, wish.no_push, wish.most_queues, wish.most_jobs = options.operation, options.no_push, options.most_queues, options.most_jobs
  return REFUSALS[changes.change(job, wish, options.data, {}, {}, false)]
end

local function retry_one(job, options)
  if job.state == DEAD then
    return put_back(job, options, "keep")
  elseif --[[ guard: operation-retries-tried-jobs ]] job.attempts == 0 then
    return "not_tried", true
  end
  return change_one(job, { delay_ms = 0 }, options)
end

local function move_one(job, options)
  if registry.name_of(job.queue) == options.queue then
    return "already_there", true
  elseif job.state == DEAD then
    return put_back(job, options, options.tries, options.queue)
  end
  return change_one(job, { queue = options.queue }, options)
end

-- What the change may add to the job, at most: the quota on bytes must have room for all of it.
local function growth_of(job, wish, data)
  local growth = wish.has_data and #data - jobs.body_bytes_of(job) or 0
  for _, field in ipairs({ "tags", "type", "retry", "ctype" }) do
    growth = growth + (wish[field] and #wish[field] or 0)
  end
  return growth
end

local function patch_one(job, options)
  local wish = options.wish
  if not --[[ guard: operation-patches-within-quota ]] byte_room.has_byte_room(job, growth_of(job, wish, options.data), options.most_bytes) then
    return "namespace_full"
  end
  return change_one(job, wish, options)
end

local verbs = { cancel = cancel_one, delete = delete_one, respawn = respawn_one, retry = retry_one, move = move_one, patch = patch_one }
-- options: {operation, no_push, most_bytes, most_queues, most_jobs, data}, and of the action {cascade, grace_ms}, {ttl_ms, tries, queue} or {wish}.
function act(job, action, options)
  return verbs[action](job, options)
end
