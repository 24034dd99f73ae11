--[[
Add or remove tags of jobs, start or end tracking; whatever their state.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, most_tags, most_bytes
ITEM verb, id, tags
most_tags: integer  tags of a job, at most

Verb: tag, untag, track, untrack, read. Tags: JSON list.
Returns {status, now_ms, (code, tags) × N}.
Code: 0 no such job, 1 done, 2 too many tags, 3 Redis is full, 4 beyond the quota (tags says how many bytes there are). Tags: JSON list, "" = none.
Cost: O(log N) per tag.
]]

--- @requires core/call, core/header, core/plan, queues/notify, limits/store_room, extended/jobs, extended/endings, extended/tags, limits/byte_room, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- By verb; each returns its code.
local verbs = {
  tag = function(job, list) return --[[ guard: tags-store-full ]] store_room.is_store_full() and 3 or tags.retag(job, list, true, most_tags, most_bytes) end,
  untag = function(job, list) return job.x.tags and tags.retag(job, list, false) or 1 end,
  track = function(job) return --[[ guard: tracking-store-full ]] store_room.is_store_full() and 3 or tags.track(job, text_of(now_floor)) end,
  untrack = function(job) return job.x.tracked and tags.track(job, nil) or 1 end,
  read = function() return 1 end,
}

-- Read.
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local verb, id, n = ARGV[i], ARGV[i + 1], #reply
  local job = jobs.job_of(id)
  if not job or job.is_gone or is_expired(job) then
    -- guard: untracked-job-leaves-no-trace
    if verb == "untrack" then
      remove_member(namespace_key("traces"), id)
      endings.forget_ending(id)
    end
    reply[n + 1], reply[n + 2] = 0, ""
  else
    reply[n + 1] = verbs[verb](job, cjson.decode(ARGV[i + 2]))
    reply[n + 2] = reply[n + 1] == 4 and text_of(byte_room.present_bytes()) or job.x.tags or ""
  end
end

-- Write.
commit(expiries)
return reply
