--[[
Give jobs tags, take them away, track jobs or track them no more; whatever their state. Keys of jobs are built from the prefix of meta
(lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] most_tags    tags of a job, at most
ARGV[4..] item × N   verb, id, tags

Verb: tag, untag, track, untrack, look. Tags: JSON list. Returns {status, now_ms, (code, tags) × N}. Status: 0 done, 1 too late.
Code: 0 no such job, 1 done, 2 too many tags. Tags: JSON list, "" = none.
Cost: O(log N) per tag.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, most_tags = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

--- @include "lib/full"
--- @include "lib/full/trace"
--- @include "lib/full/mark"

-- Look.
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local reply = { 0, now_floor }
for i = 4, #ARGV, 3 do
  local verb, id, n = ARGV[i], ARGV[i + 1], #reply
  local job = job_of(id)
  if not job or job.is_gone or is_expired(job) then
    if verb == "untrack" then
      free("ZREM", space_key("traces"), id)
    end
    reply[n + 1], reply[n + 2] = 0, ""
  else
    reply[n + 1] = marks_of[verb](job, cjson.decode(ARGV[i + 2]))
    reply[n + 2] = job.x.tags or ""
  end
end

-- Write.
commit()
return reply
