-- Wake-ups for servers that wait for jobs of a queue. The flag of a queue is one-shot: the script that finds it clears it and publishes one
-- message. A wake-up is a hint: servers look again within a second in any case.
--- @requires core/call, queues/wakeup_channel
--- @exports watch_waiters, notify, notify_ended

-- Must run before the first write: it touches the key.
local waiting_key, has_waiters
function watch_waiters(waiting)
  waiting_key, has_waiters = waiting, redis.call("EXISTS", waiting) == 1
end

function notify(name)
  -- guard: ready-job-wakes-a-waiter
  if has_waiters and name and redis.call("HGET", waiting_key, name) then
    redis.call("HDEL", waiting_key, name)
    wakeup_channel.publish_wakeup(name)
  end
end

-- Ends the lease requests of a worker that wait, on all servers. A server that does not know this message takes it for one of a queue without a name.
-- scope: of a session (queues/sessions): others may lease under its name from other queues, and go on waiting.
function notify_ended(worker, scope)
  local only = --[[ guard: session-ends-waits-of-its-queues ]] scope and scope ~= "" and "\n" .. scope or ""
  wakeup_channel.publish_wakeup(" " .. worker .. only)
end
