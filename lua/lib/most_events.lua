-- About how many events of the namespace are kept, as the server has it on which somebody listens (lua/scripts/listen.lua). Writing may have
-- begun: what cannot be read now must not end the script.
local kept = redis.pcall("GET", base .. ":listening")
local most_events = math.max(type(kept) == "string" and tonumber(kept) or 10000, 1000)
