-- lib/notify for a Cluster with sharded pub/sub, put in its place by the loader: the message goes to the namespace's own channel, which is
-- in the slot of its keys. A hint must not end a script that has begun to write, so an error is nobody's business.
local someone_waits = redis.call("EXISTS", waiting) == 1
local function notify(name)
  if someone_waits and name and redis.call("HGET", waiting, name) then
    redis.call("HDEL", waiting, name)
    redis.pcall("SPUBLISH", base .. ":wake", string.match(base, "{(.-)}$") .. " " .. name)
  end
end
