-- Jobs with dependencies: those that wait. unmet and failed: how many of its dependencies have not ended, and how many ended in another way than done.
--- @requires core/call, core/header, core/plan, queues/publish_order, extended/jobs, extended/moves, extended/conversion, extended/dead_jobs
--- @requires extended/readers, jobs/dependency_list
--- @exports ids_in, missing_of, waiters, TYING, waiter, edge, is_waiting, block, forget_needs, policy_of, fail_dependent, ties_left, tie_all, wait_for
--- @exports retie

-- A list of ids: each after a byte with its length.
function ids_in(list)
  local ids, at = {}, 1
  while at <= #list do
    local last = at + string.byte(list, at)
    ids[#ids + 1], at = string.sub(list, at + 1, last), last + 1
  end
  return ids
end

-- Which of the ids no job has: their numbers, from 1, with commas; of one list it is read once. A finished job counts as one while it is kept.
function missing_of(ids)
  local numbers = {}
  for n, id in ipairs(ids.missing and {} or ids) do
    local job = jobs.known_jobs[id]
    if job == nil then
      job = read_job(id)
    end
    if not job or job.is_gone or job.state < DONE and is_expired(job) then
      numbers[#numbers + 1] = n
    end
  end
  ids.missing = ids.missing or table.concat(numbers, ",")
  return ids.missing
end

-- The jobs whose dependencies this script has counted.
waiters = {}
-- In the field `waits`: not all of its dependencies are stored yet.
TYING = "t"

-- Counts the dependencies of a job, once.
function waiter(job)
  if not job.unmet then
    waiters[#waiters + 1], job.unmet, job.failed = job, 0, 0
    if job.x.waits then
      job.unmet = redis.call("SCARD", touch(needs_key(job.id)))
      job.failed = redis.call("HLEN", touch(named_key("f", job.id)))
    end
  end
  return job
end

-- A change of its dependencies; skipped if the job has none any more when the script writes.
function edge(job, command, key, ...)
  local call = { command, touch(key), ... }
  plan.steps[#plan.steps + 1] = function()
    if job.x.waits then
      redis.call(unpack(call))
    end
  end
end

function is_waiting(job)
  return waiter(job).unmet + job.failed > 0 or --[[ guard: blocked-until-edges-stored ]] job.x.waits == TYING
end

-- Lists show blocked jobs by publish time. It is negative if a dependency has failed.
function block(job)
  local since = publish_order.published_at(job)
  moves.go(job, BLOCKED, waiter(job).failed > 0 and -since or since)
end

-- All dependencies are met: nothing of them is left behind.
function forget_needs(job)
  delete_key(needs_key(job.id))
  delete_key(named_key("f", job.id))
  delete_key(named_key("m", job.id))
  jobs.put(job, "waits", nil)
end

-- How many more there are, at most: they count for the quota on bytes (limits/beside_bytes).
local function count_edges(job, change)
  if (job.x.waits or change < 0) and job.flags >= COUNTED and --[[ guard: dependencies-count ]] change ~= 0 then
    local edges = math.max((job.x.edges or 0) + change, 0)
    jobs.put(job, "edges", edges > 0 and edges or nil)
  end
end

-- What happens to a job when one that it depends on ended in another way than done.
function policy_of(job, outcome)
  return outcome == "cascaded" and "cancel" or job.x.onfail or "block"
end

-- It fails or is cancelled.
function fail_dependent(job, outcome)
  -- A job that is being cancelled, and was moved by its worker meanwhile, is cancelled whatever its policy.
  if job.x.cancel or policy_of(job, outcome) == "cancel" then
    if outcome == "cascaded" then
      jobs.put(job, "cascade", "1")
    end
    moves.conclude(job, CANCELLED, "cancelled")
    job.state = CANCELLED
  else
    local message = "a job that it depends on: " .. outcome
    dead_jobs.die(job, "dependency_failed", message)
    job.has_failed_by_dependency = true -- The statistics count it.
  end
end

-- Whether this script has taken a dependency of the job away already: Redis has it until the script writes.
local function is_taken_away(job, id)
  local ids = job.taken_away or {}
  local was = ids.all or ids[id]
  job.taken_away, ids[id] = ids, true
  return was
end

local function forget_failed(job, id)
  if redis.call("HEXISTS", touch(named_key("f", job.id)), id) == 1 then
    job.failed = job.failed - 1
    -- guard: failed-dependency-is-forgotten
    edge(job, "HDEL", named_key("f", job.id), id)
  end
end

-- Makes a job depend on another. Returns how that one ended, if the job ends with it.
local function tie(job, id)
  local on = jobs.job_of(id)
  local outcome = on and (on.state == DEAD and "died" or --[[ guard: kept-cancelled-job-fails-dependents ]] on.state == CANCELLED and "cancelled")
  if not on or not outcome and (on.is_gone or on.state == DONE or is_expired(on)) then
    local is_done = on and not on.is_gone and on.state == DONE
    readers.note(job, id, is_done and "acked" or "missing", is_done and on or nil)
    return
  end
  local policy = outcome and policy_of(job, outcome)
  if outcome == "died" then
    conversion.make_extended(on)
  end
  if outcome then
    readers.note(job, id, outcome, on)
  end
  if policy == "fail" or policy == "cancel" then
    return outcome
  elseif policy == "ignore" then
    return
  end
  jobs.put(job, "waits", job.x.waits or "1")
  if outcome then
    job.failed = job.failed + 1
    edge(job, "HSET", named_key("f", job.id), id, outcome)
  else
    -- A failed dependency on an earlier job with this id does not count any more.
    if --[[ guard: failed-dependency-is-forgotten-once ]] not is_taken_away(job, id) then
      forget_failed(job, id)
    end
    job.unmet = job.unmet + 1
    edge(job, "SADD", needs_key(job.id), id)
  end
  if outcome ~= "cancelled" then -- It may still be done.
    conversion.make_extended(on)
    jobs.put(on, "users", "1")
    write("SADD", named_key(outcome and "v" or "u", id), job.id)
  end
end

-- How many one script has time for; a timer handles the rest.
ties_left = 40

-- Those that there are, if missing_of has looked. Of the others the list of the job says so now: a job that gets such an id before all ties are stored is
-- not meant.
local function present_of(job, ids)
  local missing, present, parts, list, at = {}, {}, {}, job.x.deps or "", 1
  for n in string.gmatch(--[[ guard: later-job-is-not-tied ]] ids.missing or "", "%d+") do
    missing[ids[tonumber(n)]] = true
  end
  for _, id in ipairs(ids) do
    present[#present + 1] = not missing[id] and id or nil
  end
  while #present < #ids and at <= #list do
    local entry = string.sub(list, at, at + string.byte(list, at) + 1)
    parts[#parts + 1] = missing[string.sub(entry, 2, -2)] and string.sub(entry, 1, -2) .. dependency_list.LETTERS.missing or entry
    at = at + #entry
  end
  jobs.put(job, "deps", #parts > 0 and table.concat(parts) or job.x.deps)
  return present
end

-- Makes a job depend on others. Returns how one of them ended, if the job ends with it.
function tie_all(job, ids)
  waiter(job)
  if #ids > ties_left then
    jobs.put(job, "waits", TYING)
    ids = present_of(job, ids)
    for first = 1, #ids, 500 do
      edge(job, "SADD", named_key("m", job.id), unpack(ids, first, math.min(first + 499, #ids)))
    end
    set_timer("N" .. job.id, now_floor)
    return
  end
  ties_left = ties_left - #ids
  for _, id in ipairs(ids) do
    local outcome = tie(job, id)
    if outcome then
      return outcome
    end
  end
end

-- A new job waits for its dependencies. Returns false if it has none: then it continues.
function wait_for(job, ids)
  local outcome = tie_all(job, ids)
  count_edges(job, #ids)
  if outcome then
    fail_dependent(job, outcome)
  elseif job.x.waits then
    block(job)
  end
  return outcome or job.x.waits
end

-- Removes dependencies of a job.
local function untie(job, id)
  waiter(job)
  if is_taken_away(job, id) then
    return
  elseif redis.call("SISMEMBER", touch(needs_key(job.id)), id) == 1 then
    job.unmet = job.unmet - 1
    edge(job, "SREM", needs_key(job.id), id)
  else
    forget_failed(job, id)
  end
  edge(job, "SREM", named_key("m", job.id), id)
  free("SREM", users_key(id), job.id)
  free("SREM", named_key("v", id), job.id)
end

-- The list of all dependencies, without some and with others. Returns how many more there are.
local function relist(job, more, less)
  local ids, letters, numbers = dependency_list.entries_of(job.x.deps or "")
  local change, parts = 0, {}
  for _, id in ipairs(less) do
    local n = numbers[id]
    if n then
      letters[n], numbers[id], change = false, nil, change - 1
      free("SREM", named_key("r", id), job.id)
      readers.look_soon(id)
    end
  end
  for _, id in ipairs(more) do
    local n = numbers[id] or #ids + 1
    change = change + (numbers[id] and 0 or 1)
    -- What is named again may be another job by now.
    ids[n], letters[n], numbers[id] = id, dependency_list.LETTERS.revived, n
  end
  for n, id in ipairs(ids) do
    parts[#parts + 1] = letters[n] and string.char(#id) .. id .. letters[n] or nil
  end
  jobs.put(job, "deps", #parts > 0 and table.concat(parts) or nil)
  return change
end

-- Other dependencies: `less` go, `more` are added. Returns how one ended, if the job ends with it.
function retie(job, wish, more, less)
  if wish.only then
    -- The sets of dependents of the others are out of date then; their readers check.
    waiter(job)
    job.unmet, job.failed, job.taken_away = 0, 0, { all = true }
    forget_needs(job)
    jobs.put(job, "edges", nil)
    readers.let_go(job, true)
    jobs.put(job, "deps", nil)
    jobs.put(job, "results_of", wish.results_of)
  elseif #more > 0 and wish.results_of ~= job.x.results_of then
    -- Two tokens have named dependencies: what only one of them may read is for neither.
    -- guard: second-token-reads-no-results
    jobs.put(job, "results_of", job.x.deps and job.x.results_of and wish.results_of and "" or wish.results_of or job.x.results_of)
  end
  for _, id in ipairs(less) do
    untie(job, id)
  end
  -- guard: changed-dependencies-in-list
  local change = relist(job, more, less)
  local outcome = tie_all(job, more)
  count_edges(job, --[[ guard: dependencies-count-once ]] change)
  return outcome
end
