--[[
Record the heartbeat of a worker session. Its leases are extended by the command extended/settle.

KEYS meta, due, workers
ARGV clock_ms, deadline_ms, worker, ttr_ms, jobs, info, name, scope, most
worker: text     the id of the session
ttr_ms: integer  without a heartbeat for so long the session is lost
jobs: text       how many jobs it has
info: text       JSON: what it says of itself; "" = as before
name: text       of its process; "" = as before
scope: text      the queues that its token is for, "" = all: see queues/sessions
most: integer    workers, at most; 0 = any number

Returns {status, now_ms, found, flags}. Found: 0 there is no such session, and no info, or it is that of another scope; 1 it was known, 2 it starts, 3
it was lost, 4 there are too many (flags says how many). Flags: 1 = quiet, 2 = stop, 3 = both.
Cost: O(log N).
]]

--- @script
--- @requires core/call, jobs/events, queues/sessions

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local session, timers, settings, all_sessions = session_key(worker), namespace_key("timers"), namespace_key("settings"), sessions.sessions_key()
redis.call("EXISTS", meta, due, workers, timers, session, all_sessions)
local x = redis.call("HMGET", session, "began", "quiet", "stop", "name", "scope")
if not x[1] and --[[ guard: unknown-session-is-introduced-first ]] info == "" or x[1] and --[[ guard: session-heartbeat-scope ]] sessions.is_foreign_session(x[5], scope) then
  return { 0, now_floor, 0, 0 }
elseif redis.call("EXISTS", meta) == 0 then
  return { 2, now_floor }
end
local age_ms = tonumber(redis.call("HGET", settings, "max_worker_age_ms") or 86400000)
if not x[1] and --[[ guard: sessions-within-quota ]] not sessions.has_room_for_worker(workers, most) then
  return { 0, now_floor, 4, redis.call("ZCARD", workers) }
end
local found = not x[1] and 2 or redis.call("ZSCORE", all_sessions, worker) and 1 or 3
if found > --[[ guard: session-start-event-once ]] 1 then
  events.emit("worker_started", "", "", cjson.encode(sessions.session_facts(worker, name ~= "" and name or x[4], { returned = found == 3 or nil })))
end

-- Write. What a full Redis refuses is left out: the leases must be extended all the same.
local stored = --[[ guard: full-redis-extends-leases ]] redis.pcall("HSET", session, "at", text_of(now_floor), "ttr", text_of(ttr_ms), "jobs", jobs, "began", x[1] or text_of(now_floor))
if info ~= "" then
  redis.pcall("HSET", session, "info", info, "name", name)
end
-- It starts, has had heartbeats by earlier servers only, or is taken over.
if not x[5] or --[[ guard: session-taken-over ]] info ~= "" and scope == "" then
  redis.pcall("HSET", session, "scope", scope)
end
-- The timer W removes it with its worker. This is for what older servers leave: they know no sessions.
-- guard: session-has-redis-ttl
redis.pcall("PEXPIRE", session, text_of(age_ms + ttr_ms))
redis.pcall("ZADD", workers, text_of(now_floor), worker)
redis.pcall("ZADD", all_sessions, --[[ guard: heartbeat-keeps-the-session ]] text_of(now_floor + ttr_ms), worker)
redis.pcall("ZADD", timers, "LT", text_of(now_floor + age_ms), "W", text_of(now_floor + ttr_ms), --[[ guard: lost-session-has-a-timer ]] sessions.LOST_TIMER)
redis.pcall("ZADD", due, "LT", text_of(now_floor + math.min(age_ms, ttr_ms)), EXTENDED_TIMERS)
events.write_events()
-- A session that was not stored starts with a later heartbeat.
return { 0, now_floor, --[[ guard: unstored-start-is-not-counted ]] type(stored) == "number" and found or 1, (x[2] and 1 or 0) + (x[3] and 2 or 0) }
