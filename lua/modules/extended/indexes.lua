-- Indexes of extended jobs: of their state, by tag, type and failure group, of their worker, and of tracked jobs. But for that of the state, they are
-- updated from what the job was when it was read and what it is now. The size of an index is always counted, never computed, so it cannot become wrong.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings
--- @exports SIMPLE_INDEX, kind_of, index_key, TRACE_AGE_MS, update_indexes

-- Extended jobs have indexes of their own, which the pump of the simple path never reads.
local EXTENDED_INDEX = { [SCHEDULED] = "S", [LEASED] = "L", [DEAD] = "d", [BLOCKED] = "b", [HELD] = "h", [DONE] = "z", [CANCELLED] = "z" }
SIMPLE_INDEX = { [SCHEDULED] = "s", [LEASED] = "l", [DEAD] = "d" }
function kind_of(job)
  return (is_extended(job) and EXTENDED_INDEX or SIMPLE_INDEX)[job.state]
end

-- The index by tag, type, group or worker.
function index_key(kind, name)
  return namespace_key(kind .. ":" .. name)
end

local recounted, said = {}, { ZADD = {}, ZREM = {} }
local function recount(key, counts, name)
  recounted[key] = touch(namespace_key(counts))
  lasts[#lasts + 1] = function()
    local n = redis.call("ZCARD", key)
    redis.call(n > 0 and "ZADD" or "ZREM", recounted[key], unpack(n > 0 and { n, name } or { name }))
  end
end

-- One command for each index: a job may have dozens of tags, and a batch dozens of jobs. free and write return the command, so that more members may
-- be added.
local function command_to(command, plan, kind, name, counts)
  local key = index_key(kind, name)
  if counts and not recounted[key] then
    recount(key, counts, name)
  end
  said[command][key] = said[command][key] or plan(command, key)
  return said[command][key]
end

-- was, is: its names in the indexes of a kind before and after; at: its score; counts: the zset of the sizes, by name.
local function keep_index(kind, job, was, is, at, counts)
  if was and was ~= is then
    table.insert(command_to("ZREM", free, kind, was, counts), job.id)
  end
  if is and was ~= is then
    local call = command_to("ZADD", write, kind, is, counts)
    call[#call + 1], call[#call + 2] = type(at) == "string" and at or text_of(at or now_floor), job.id
  end
end

-- The jobs of each worker, by the end of its lease. A job whose lease expired stays with its worker, as a stalled one, until another worker leases it or
-- it goes elsewhere.
local function update_worker(job, was, worker)
  if was.worker and (was.worker ~= worker or was.state ~= job.state and not job.is_stalled) then
    free("ZREM", index_key("w", was.worker), job.id)
  end
  if worker and job.state == LEASED and job.at then
    write("ZADD", index_key("w", worker), text_of(job.at), job.id)
  end
end

-- Tracked jobs: since when each is. Those that have ended are remembered for a day.
TRACE_AGE_MS = 86400000
local function update_tracked(job, was, tracked)
  if was.tracked and not tracked and job.is_gone then
    write("ZADD", namespace_key("traces"), text_of(now_floor), job.id)
    set_timer("T", now_floor + TRACE_AGE_MS)
  end
  if was.tracked and not tracked then
    free("ZREM", namespace_key("tracked"), job.id)
  elseif tracked and not was.tracked then
    free("ZREM", namespace_key("traces"), job.id)
    write("ZADD", namespace_key("tracked"), tracked, job.id)
  end
end

local function set_of(tags)
  local set = {}
  for _, tag in ipairs(tags and cjson.decode(tags) or {}) do
    set[tag] = tag
  end
  return set
end

-- The setting of the queue counts when a job is stored in it, moved into it, put back from the dead letter, or gets other tags. From then on the
-- job itself says whether its tags are indexed.
local function decide_tags(job, was, is)
  local is_respawned = was.state == DEAD and job.state == READY
  if is.tags and (was.tags ~= is.tags or was.queue ~= job.queue or is_respawned) then
    put(job, "unindexed", settings_of(job.queue).unindexed)
  elseif not is.tags and is.unindexed then
    put(job, "unindexed", nil)
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

-- All indexes of the jobs that this script changes.
local NOTHING = { x = {} }
function update_indexes()
  for _, job in ipairs(changed) do
    local was, is = job.was or NOTHING.x, (is_extended(job) and not job.is_gone and job or NOTHING).x
    decide_tags(job, was, is)
    update_tags(job, indexed_tags(was), indexed_tags(is))
    keep_index("y", job, was.type, is.type, job.x.put)
    keep_index("F", job, was.state == DEAD and was.fgroup, job.state == DEAD and is.fgroup, job.x.ended, "groups")
    update_worker(job, was, is.worker)
    update_tracked(job, was, is.tracked)
  end
end
