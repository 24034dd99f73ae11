-- How tracked jobs ended that are gone, beside the times of the zset of traces: a hash id -> the event of its end and the queue. A hint for explanations: it
-- counts only while the zset has the job. Servers that do not know it leave fields behind, so it has a Redis TTL.
--- @requires core/call, core/plan, core/header, queues/registry
--- @exports remember_ending, forget_ending, forget_oldest_endings, ending_of

local KEEP_MS = 86400000

local function endings_key()
  return namespace_key("endings")
end

-- job: one that goes now; job.outcome: the event of its end.
local KEPT = { [DONE] = "acked", [CANCELLED] = "cancelled" }
function remember_ending(job)
  local outcome = job.outcome or KEPT[job.state] or "deleted"
  write("HSET", endings_key(), job.id, outcome .. " " .. registry.name_of(job.queue))
  write("PEXPIRE", endings_key(), KEEP_MS)
end

function forget_ending(id)
  free("HDEL", endings_key(), id)
end

-- Keeps so many traces, at most.
function forget_oldest_endings(traces, most)
  local old = redis.call("ZRANGE", traces, 0, -1 - most)
  if #old > 0 then
    redis.call("ZREM", traces, unpack(old))
    redis.call("HDEL", endings_key(), unpack(old))
  end
end

-- Returns when it went, Unix ms, the event of its end, and its queue; an empty list = no record is kept.
function ending_of(traces, id)
  redis.call("EXISTS", meta_key, traces, endings_key())
  local at, text = redis.call("ZSCORE", traces, id), redis.call("HGET", endings_key(), id)
  local outcome, queue = string.match(at and text or "", "^(%S+) (.*)$")
  return outcome and { at, outcome, queue } or {}
end
