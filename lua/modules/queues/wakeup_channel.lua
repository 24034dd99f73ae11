-- The channel that all servers listen on for wake-ups. In a Cluster with sharded pub/sub the loader puts queues/wakeup_channel_sharded in its place.
--- @requires core/call
--- @exports publish_wakeup

function publish_wakeup(text)
  local prefix, namespace = string.match(base, "^(.*){(.-)}$")
  redis.call("PUBLISH", prefix .. "pumphouse:wake", namespace .. " " .. text)
end
