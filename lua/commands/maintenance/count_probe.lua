--[[
Count a probe of a server. The count never goes back, whatever the clock does: a lower one shows that the store has lost what it had. Then the count goes
on far above it, so that no other server reports the same loss.

KEYS run
ARGV known
run: hash       probes, probed -> how many there were, and when the last one was, Unix ms
known: integer  the count of the server's last probe

Returns {is_lost, count, last_ms}. Is_lost: 1 = the store has lost what was written after last_ms. Count: with this probe; a full Redis counts none.
Last_ms: when the one before was, 0 = never.
Cost: O(1).
]]

--- @script

local JUMP = 4294967296
local facts, time = redis.call("HMGET", run, "probes", "probed"), redis.call("TIME")
local count, last = tonumber(facts[1] or 0), tonumber(facts[2] or 0)
local is_lost = --[[ guard: lower-count-is-a-loss ]] count < known
-- Far above what any other server knows.
count = (is_lost and known + JUMP or count) + 1
local now_ms = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
local reply = redis.pcall("HSET", run, "probes", string.format("%.0f", count), "probed", now_ms)
return { is_lost and type(reply) == "number" and 1 or 0, type(reply) == "number" and count or known, last }
