--[[
Record when tokens were last used, each at most once per pause. Tokens that are gone are skipped. Their keys are the prefix of `limited` with "t:" and
the digest.

KEYS limited
ARGV pause_ms
ITEM digest
pause_ms: integer  how old the recorded time must be to be written again

Returns how many were written.
Cost: O(1) per item.
]]

local base = string.sub(limited, 1, -1 - string.len("limited")) .. "t:"
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local due = {}
for i = FIRST_ITEM, #ARGV do
  local pool, used = unpack(redis.call("HMGET", base .. ARGV[i], "pool", "used"))
  if --[[ guard: use-makes-no-token ]] pool and (not used or now_ms - used >= pause_ms or used - now_ms >= pause_ms) then
    due[#due + 1] = base .. ARGV[i]
  end
end
for _, token in ipairs(due) do
  redis.call("HSET", token, "used", string.format("%.0f", now_ms))
end
return #due
