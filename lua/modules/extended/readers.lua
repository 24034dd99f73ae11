-- Dependents that may read the result of a job: it is kept until the last of them has ended, whatever its retention. A dead dependent may still be respawned,
-- so it has not ended.
--- @requires core/call, core/header, core/plan, extended/jobs, jobs/dependency_list
--- @exports CHECK_AGAIN_MS, is_needed, note, look_soon, let_go

-- When the timer of retention looks again at a job that is needed, if no end of a dependent calls it before.
CHECK_AGAIN_MS = 60000
-- Dependencies that are told at once that a dependent has ended. The timer finds the end of one with more.
local MOST_AT_ONCE = 40
-- Members of a set that are looked at. If none of them may read the job but there are more, it counts as needed for now.
local MOST_LOOKED_AT = 8

-- Lists of dependents that this script has not loaded.
local lists = {}
local function list_of_reader(reader)
  if lists[reader] == nil then
    lists[reader] = redis.call("HGET", touch(extras_key(reader)), "deps")
  end
  return lists[reader]
end

-- Whether a dependent may still run, and has the job in its list. It is looked for as bytes: they may be parts of other entries, but hardly ever are.
local function may_read(reader, id)
  local job = jobs.known_jobs[reader]
  if job == nil then
    job = read_job(reader)
  end
  if not job or job.is_gone or job.state >= DONE or is_expired(job) then
    return false
  end
  local list = job.x and job.x.deps or not job.x and list_of_reader(reader)
  return list and string.find(list, string.char(#id) .. id, 1, true) ~= nil
end

-- Whether one of the dependents in a set of the job may read it; and whether to look again at once. is_pruned: takes those out that may not.
local function has_reader(key, id, is_pruned)
  local members = redis.call("SRANDMEMBER", touch(key), MOST_LOOKED_AT)
  for _, reader in ipairs(members) do
    if may_read(reader, id) then
      return true
    end
  end
  if is_pruned and #members > 0 then
    free("SREM", key, unpack(members))
  end
  local has_more = #members == MOST_LOOKED_AT and redis.call("SCARD", key) > MOST_LOOKED_AT
  return has_more, has_more
end

-- Whether dependents may read the result of a job; and whether to look again at once. ends_now: by this script. Until the dependents of a job that has ended
-- are told, a timer is due for them.
function is_needed(job, ends_now)
  if not job.x.users then
    return false
  elseif ends_now then
    if job.is_needed == nil then
      job.is_needed = has_reader(users_key(job.id), job.id) or has_reader(named_key("v", job.id), job.id) or has_reader(named_key("r", job.id), job.id)
    end
    return job.is_needed
  elseif redis.call("HEXISTS", touch(namespace_key("ended")), job.id) == 1 then
    return true
  end
  return has_reader(named_key("r", job.id), job.id, true)
end

-- Where the entry of an id begins in the list of a job. A script that looks up several ids of one job reads its list once more, and knows all places then.
local function place_of(job, id)
  local list = job.x.deps
  if not job.places then
    job.places = {}
    return dependency_list.place_in(list, id)
  end
  local at = job.places[id]
  if not at or string.sub(list, at + 1, at + #id) ~= id then -- They are not known yet, or the list is another one by now.
    at = 1
    while at <= #list do
      local other, _, next_at = dependency_list.entry_at(list, at)
      job.places[other], at = at, next_at
    end
    at = dependency_list.place_in(list, id) and job.places[id]
  end
  return at
end

-- Notes in the list of a job how a dependency ended, and lets the job read that one. on: the table of the dependency, nil = it is gone.
local LASTS = { acked = true, died = true }
function note(job, id, outcome, on)
  local list = job.x.deps
  local at = list and place_of(job, id)
  local letter = at and select(2, dependency_list.entry_at(list, at))
  if not letter or outcome ~= "revived" and letter ~= dependency_list.LETTERS.revived and letter ~= dependency_list.LETTERS.died then
    return
  end
  if letter ~= dependency_list.LETTERS[outcome] then
    jobs.put(job, "deps", dependency_list.with_letter(list, at, dependency_list.LETTERS[outcome]))
  end
  if on and not on.is_gone and LASTS[outcome] then
    if not on.x.users then
      jobs.put(on, "users", "1")
    end
    -- guard: dependents-read-results
    write("SADD", named_key("r", id), job.id)
  end
end

-- The timer of retention looks at an ended job at once.
function look_soon(id)
  -- guard: unneeded-result-goes-at-once
  write("ZADD", namespace_key("keeping"), "XX", "LT", text_of(now_floor), id)
  set_timer("Z", now_floor)
end

-- A job does not run again, or has other dependencies: what it depended on is not kept for it. is_gone: it reads no results either.
function let_go(job, is_gone)
  local list, at = job.x.deps or "", 1
  for _ = 1, #list > 0 and MOST_AT_ONCE or 0 do
    if at > #list then
      return
    end
    local id, letter, next_at = dependency_list.entry_at(list, at)
    if letter == dependency_list.LETTERS.acked then
      look_soon(id)
    end
    for kind in string.gmatch(is_gone and "uvr" or "", ".") do
      free("SREM", named_key(kind, id), job.id)
    end
    at = next_at
  end
end
