--[[
Add or remove tags of jobs, start or end tracking; whatever their state. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] most_tags    tags of a job, at most
ARGV[4] most_bytes   the quota on bytes, 0 = none
ARGV[5..] item × N   verb, id, tags

Verb: tag, untag, track, untrack, read. Tags: JSON list. Returns {status, now_ms, (code, tags) × N}. Status: 0 done, 1 too late.
Code: 0 no such job, 1 done, 2 too many tags, 3 Redis is full, 4 beyond the quota (tags says how many bytes there are). Tags: JSON list, "" = none.
Cost: O(log N) per tag.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, most_tags, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

--- @requires core/call, core/header, core/plan, queues/notify, limits/store_room, extended/jobs, extended/tags, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
start_plan(due)

-- By verb; each returns its code.
local verbs = {
  tag = function(job, tags) return --[[ guard: tags-store-full ]] is_store_full() and 3 or retag(job, tags, true, most_tags, most_bytes) end,
  untag = function(job, tags) return job.x.tags and retag(job, tags, false) or 1 end,
  track = function(job) return --[[ guard: tracking-store-full ]] is_store_full() and 3 or track(job, text_of(now_floor)) end,
  untrack = function(job) return job.x.tracked and track(job, nil) or 1 end,
  read = function() return 1 end,
}

-- Read.
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local reply = { 0, now_floor }
for i = 5, #ARGV, 3 do
  local verb, id, n = ARGV[i], ARGV[i + 1], #reply
  local job = job_of(id)
  if not job or job.is_gone or is_expired(job) then
    -- guard: untracked-job-leaves-no-trace
    if verb == "untrack" then
      remove_member(namespace_key("traces"), id)
    end
    reply[n + 1], reply[n + 2] = 0, ""
  else
    reply[n + 1] = verbs[verb](job, cjson.decode(ARGV[i + 2]))
    reply[n + 2] = reply[n + 1] == 4 and text_of(present_bytes()) or job.x.tags or ""
  end
end

-- Write.
commit(expiries)
return reply
