-- Indexes of extended jobs: of their state, by tag, type and failure group, of their worker, and of tracked jobs. But for that of the state, they are
-- updated from what the job was when it was read and what it is now. The size of an index is always counted, never computed, so it cannot become wrong.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, extended/endings
--- @exports SIMPLE_INDEX, kind_of, index_key, TRACE_AGE_MS, update_indexes

-- Extended jobs have indexes of their own, which the pump of the simple path never reads.
local EXTENDED_INDEX = { [SCHEDULED] = "S", [LEASED] = "L", [DEAD] = "d", [BLOCKED] = "b", [HELD] = "h", [DONE] = "z", [CANCELLED] = "z" }
SIMPLE_INDEX = { [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
function kind_of(job)
  return (is_extended(job) and EXTENDED_INDEX or SIMPLE_INDEX)[job.state]
end

-- The index by tag, type, group or worker.
local index_keys = { t = {}, y = {}, F = {}, w = {} }
function index_key(kind, name)
  local keys = index_keys[kind]
  keys[name] = keys[name] or namespace_key(kind .. --[[ guard: index-names-are-no-keys ]] ":" .. name)
  return keys[name]
end

local recounted = {}
local function recount(key, counts, name)
  recounted[key] = touch(namespace_key(counts))
  plan.lasts[#plan.lasts + 1] = function()
    local n = redis.call("ZCARD", key)
    redis.call(n > 0 and "ZADD" or "ZREM", recounted[key], unpack(n > 0 and { n, name } or { name }))
  end
end

-- The key of an index whose size changes. counts: the zset of the sizes, by name, if there is one.
local function changed_index(kind, name, counts)
  local key = index_key(kind, name)
  if counts and not recounted[key] then
    recount(key, counts, name)
  end
  return key
end

-- was, is: its names in the indexes of a kind before and after; at: its score.
local function keep_index(kind, job, was, is, at, counts)
  if was and was ~= is then
    remove_member(changed_index(kind, was, counts), job.id)
  end
  if is and was ~= is then
    add_member(changed_index(kind, is, counts), type(at) == "string" and at or text_of(at or now_floor), job.id)
  end
end

-- The jobs of each worker, by the end of its lease. A job whose lease expired stays with its worker, as a stalled one, until another worker leases it or
-- it goes elsewhere.
local function update_worker(job, was, worker)
  if was.worker and (was.worker ~= worker or --[[ guard: worker-index-follows-the-job ]] was.state ~= job.state and not job.is_stalled) then
    remove_member(index_key("w", was.worker), job.id)
  end
  if worker and job.state == LEASED and job.at then
    add_member(index_key("w", worker), text_of(job.at), job.id)
  end
end

-- Tracked jobs: since when each is. Of those that have ended the last ones are remembered, for a day.
TRACE_AGE_MS = 86400000
local MOST_TRACES = 10000
local function update_tracked(job, was, tracked)
  if was.tracked and not tracked and job.is_gone then
    add_member(namespace_key("traces"), text_of(now_floor), job.id)
    endings.remember_ending(job)
    set_timer("T", now_floor + TRACE_AGE_MS)
    plan.lasts[#plan.lasts + 1] = function()
      -- guard: traces-are-bounded
      endings.forget_oldest_endings(namespace_key("traces"), MOST_TRACES)
    end
  end
  if was.tracked and not tracked then
    remove_member(namespace_key("tracked"), job.id)
  elseif tracked and not was.tracked then
    remove_member(namespace_key("traces"), job.id)
    endings.forget_ending(job.id)
    add_member(namespace_key("tracked"), tracked, job.id)
  end
end

-- Jobs of a batch have the same tags more often than not: each text is read once.
local NO_TAGS, sets = {}, {}
local function set_of(tags)
  if tags and not sets[tags] then
    sets[tags] = {}
    for _, tag in ipairs(cjson.decode(tags)) do
      sets[tags][tag] = tag
    end
  end
  return tags and sets[tags] or NO_TAGS
end

-- The setting of the queue counts when a job is stored in it, moved into it, put back from the dead letter, or gets other tags. From then on the
-- job itself says whether its tags are indexed.
local function decide_tags(job, was, is)
  local is_respawned = was.state == DEAD and job.state == READY
  if is.tags and (was.tags ~= is.tags or was.queue ~= job.queue or is_respawned) then
    jobs.put(job, "unindexed", settings.settings_of(job.queue).unindexed)
  elseif not is.tags and is.unindexed then
    jobs.put(job, "unindexed", nil)
  end
end

local function indexed_tags(x)
  return not x.unindexed and x.tags or nil
end

local function update_tags(job, was, is)
  if was ~= is then
    local old, new, at = set_of(was), set_of(is), text_of(tonumber(job.x.put or now_floor))
    for tag in pairs(old) do
      keep_index("t", job, tag, new[tag], at, "tags")
    end
    for tag in pairs(new) do
      keep_index("t", job, old[tag], tag, at, "tags")
    end
  end
end

local NOTHING = {}
local function update_indexes_of(job)
  local was, is = job.was or NOTHING, is_extended(job) and --[[ guard: gone-job-in-no-index ]] not job.is_gone and job.x or NOTHING
  decide_tags(job, was, is)
  update_tags(job, indexed_tags(was), indexed_tags(is))
  keep_index("y", job, was.type, is.type, job.x.put)
  keep_index("F", job, was.state == DEAD and was.fgroup, --[[ guard: group-index-dead-only ]] job.state == DEAD and is.fgroup, job.x.ended, "groups")
  update_worker(job, was, is.worker)
  update_tracked(job, was, is.tracked)
end

-- All indexes of the jobs that this script changes. A simple job is in none of them.
function update_indexes()
  for _, job in ipairs(jobs.changed) do
    if job.was or is_extended(job) then
      update_indexes_of(job)
    end
  end
end
