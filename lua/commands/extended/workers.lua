--[[
Read workers with their sessions, and count their leases; after that forget them with their sessions (they are listed again when they are seen again,
and their jobs stay as they are), or set a flag of their sessions. Forget and end_waits end their lease requests that wait, on all servers.

KEYS meta, workers
ARGV clock_ms, deadline_ms, verb, scope
ITEM worker
verb: text   read, forget, quiet, stop or end_waits
scope: text  forget, end_waits: only sessions of this scope (queues/sessions), and its waits; a worker with leases is listed further. "" = of all,
             and workers without a session

Returns {status, now_ms, (seen_ms, leased, stalled, heartbeat_ms, ttr_ms, jobs, began_ms, flags, info) × N}. Seen_ms 0: there is none of this name, or
it is out of the scope. Stalled: jobs whose lease expired, and that no worker has leased since. Heartbeat_ms 0: it has no session, and the rest is 0
and "". Flags: 1 = quiet, 2 = stop, 3 = both; as they were before.
Cost: O(log N) per item.
]]

--- @requires core/call, jobs/events, queues/notify, queues/sessions

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local reply, keys, all_sessions, others = { 0, now_floor }, { meta, workers }, sessions.sessions_key(), {}
for i = FIRST_ITEM, #ARGV do
  keys[#keys + 1] = namespace_key("w:" .. ARGV[i])
  keys[#keys + 1] = session_key(ARGV[i])
end
redis.call("EXISTS", all_sessions, unpack(keys))
local event_names = { forget = "worker_ended", quiet = "worker_quieted", stop = "worker_stopping" }
for i = FIRST_ITEM, #ARGV do
  local leases, session, n = keys[i * 2 - 7], keys[i * 2 - 6], #reply
  local x = redis.call("HMGET", session, "at", "ttr", "jobs", "began", "quiet", "stop", "info", "name", "scope")
  others[i] = --[[ guard: session-end-scope ]] scope ~= "" and x[9] ~= scope
  reply[n + 1] = not others[i] and tonumber(redis.call("ZSCORE", workers, ARGV[i]) or 0) or 0
  reply[n + 2] = redis.call("ZCOUNT", leases, "(" .. text_of(now_floor), "+inf")
  reply[n + 3] = redis.call("ZCOUNT", leases, "-inf", text_of(now_floor))
  for field = 1, 4 do
    reply[n + 3 + field] = tonumber(x[field] or 0)
  end
  reply[n + 8], reply[n + 9] = (x[5] and 1 or 0) + (x[6] and 2 or 0), x[7] or ""
  -- A flag that was set before is no news.
  if event_names[verb] and x[1] and not others[i] and --[[ guard: session-repeated-request-silent ]] not (verb == "quiet" and x[5] or verb == "stop" and x[6]) then
    events.emit(event_names[verb], "", "", cjson.encode(sessions.session_facts(ARGV[i], x[8])))
  end
end

-- Write.
for i = FIRST_ITEM, #ARGV do
  local leases, session = keys[i * 2 - 7], keys[i * 2 - 6]
  -- For a token that may not use the session it is as if there were none.
  local does = not others[i] and verb
  if does == "end_waits" then
    notify.notify_ended(ARGV[i], scope)
  elseif does == "forget" then
    -- guard: ended-session-ends-waits
    notify.notify_ended(ARGV[i], scope)
    -- guard: ended-session-not-lost
    redis.call("ZREM", all_sessions, ARGV[i])
    -- guard: session-delete-complete
    redis.call("UNLINK", session)
    -- Others may have leased under its name, from other queues.
    if --[[ guard: session-end-keeps-leases ]] scope == "" or redis.call("EXISTS", leases) == 0 then
      redis.call("ZREM", workers, ARGV[i])
      redis.call("UNLINK", leases)
    end
  elseif (does == "quiet" or does == "stop") and --[[ guard: request-needs-session ]] redis.call("EXISTS", session) == 1 then
    redis.call("HSET", session, verb, 1)
  end
end
events.write_events()
return reply
