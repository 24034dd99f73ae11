--[[
Find out whether the store is still in the run that servers know, and begin a new one if it is not: its process was started again, it was a replica
before, or its clock was set back. Then its data may be older than what it answered last, so that leases need numbers above all that were granted (ADR 42).

KEYS run, namespaces
ARGV identity, jump, known
run: hash        store -> its process and the history of its data; floor, began -> of the run
namespaces: set  there are jobs if it is there; the same key as run in a Cluster: there are if the node has any key
identity: text   of the store now
jump: integer    how far the floor is above that of the last run, at least
known: integer   the floor that the server uses, 0 = none

Returns {floor, began_ms}. Floor: the lowest number of a new lease, 0 = a new store.
Cost: O(1).
]]

--- @script

-- Above the low 31 bits of a time, where the numbers of chosen ids begin (core/header). It rises by two a second from 2026 on, so that runs which do not
-- know of each other have numbers of their own; the highest leaves each job 16 million leases.
local LOWEST, FROM_S, A_SECOND, HIGHEST = 2147483648, 1767225600, 2, 4278190080

local floor, began = tonumber(redis.call("HGET", run, "floor") or 0), tonumber(redis.call("HGET", run, "began") or 0)
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
-- A server that knows a higher floor was at another store meanwhile, which has the same jobs: both masters of a split group.
local is_node = run == namespaces
local is_known = redis.call("HGET", run, "store") == identity and (is_node or --[[ guard: two-masters-have-floors-of-their-own ]] floor >= known)
-- Where the clock was set back behind the beginning of the run, jobs from now on would count as older than it, and each under the same id would get the
-- same number: the floor.
is_known = is_known and --[[ guard: clock-set-back-begins-a-run ]] began <= now_ms
if is_known and floor >= known then
  return { floor, began }
end
-- A store that has no key is new.
local is_new = is_node and redis.call("DBSIZE") == 0 or not is_node and redis.call("EXISTS", run, namespaces) == 0
if is_known then
  -- The server uses the floor of another node here, too: the next run has to begin above it.
  floor = known
elseif --[[ guard: floor-rises-with-run ]] not is_new then
  local now_floor = LOWEST + math.max(time[1] - FROM_S, 0) * A_SECOND
  floor, began = math.min(math.max(now_floor, floor, known) + jump, HIGHEST), now_ms
end
-- A full Redis refuses this, and is used all the same.
-- guard: full-redis-has-a-floor
redis.pcall("HSET", run, "store", identity, "floor", string.format("%.0f", floor), "began", string.format("%.0f", began))
return { floor, began }
