-- Wakes the servers that wait on a queue. The flag is one-shot: whoever finds it clears it, and one message goes out.
-- A wake-up is a hint; waiters look again within a second in any case.
local someone_waits = redis.call("EXISTS", waiting) == 1
local function notify(name)
  if someone_waits and name and redis.call("HGET", waiting, name) then
    redis.call("HDEL", waiting, name)
    local prefix, namespace = string.match(base, "^(.*){(.-)}$")
    redis.call("PUBLISH", prefix .. "pumphouse:wake", namespace .. " " .. name)
  end
end
