-- queues/wakeup_channel for a Cluster with sharded pub/sub, put in its place by the loader: the message goes to the namespace's own channel, which is
-- in the slot of its keys. A hint must not end a script that has begun to write, so an error is ignored.
--- @requires core/call
--- @exports publish_wakeup

function publish_wakeup(text)
  -- guard: wake-up-uses-the-shard
  redis.pcall("SPUBLISH", base .. ":wake", string.match(base, "{(.-)}$") .. " " .. text)
end
