-- queues/notify for a Cluster with sharded pub/sub, put in its place by the loader: the message goes to the namespace's own channel, which is
-- in the slot of its keys. A hint must not end a script that has begun to write, so an error is ignored.
--- @requires core/call
--- @exports watch_waiters, notify, notify_ended

local waiting_key, has_waiters
function watch_waiters(waiting)
  waiting_key, has_waiters = waiting, redis.call("EXISTS", waiting) == 1
end

local function publish_wakeup(text)
  -- guard: wake-up-uses-the-shard
  redis.pcall("SPUBLISH", base .. ":wake", string.match(base, "{(.-)}$") .. " " .. text)
end

function notify(name)
  if has_waiters and name and redis.call("HGET", waiting_key, name) then
    redis.call("HDEL", waiting_key, name)
    publish_wakeup(name)
  end
end

function notify_ended(worker)
  publish_wakeup(" " .. worker)
end
