--[[
Remove jobs whose work is done (or that are not wanted any more), whatever their state. An item that names its lease is refused when
that lease is not the present one. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   claim, id

Claim: "lease,queue", read once for all items that share it; lease 0 = any. Returns {status, now_ms, codes}. Status: 0 done, 1 too late.
Codes: a digit per item: 0 no such job, 1 removed, 2 refused: the lease was lost, 3 removed, but its lease had run out, 4 removed under a second or
later lease, 5 removed before it was ever leased, 6 its queue is a full one: nothing has changed, ask the full lane.
Cost: O(log N) per item.
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/read_values"
--- @include "lib/find_queue"
--- @include "lib/doom"
--- @include "lib/remove"

local claims = {}
local function read_claim(text)
  local lease, name = string.match(text, "^(%d+),(.*)$")
  claims[text] = { lease = tonumber(lease), number = find_queue(name) or -1, full = full[name] }
  return claims[text]
end

local function verdict(state, attempts, present, lease)
  if lease > 0 then
    return state == LEASED and present == lease and "1" or "2"
  elseif attempts == 0 then
    return "5"
  elseif state ~= LEASED then
    return "3"
  end
  return attempts > 1 and "4" or "1"
end

-- Codes are text: to make text of a number costs more than all else that is done with it.
local ids, codes = {}, {}
for i = 3, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i + 1]
end
local values = read_values(ids)
for n, id in ipairs(ids) do
  local text, code = ARGV[n * 2 + 1], "0"
  local claim = claims[text] or read_claim(text)
  local _, state, flags, _, _, attempts, present, at, entry, expires = struct.unpack(HEADER, values[n] or NO_JOB)
  if claim.full then
    code = "6"
  elseif at == claim.number and not doomed[id] and not (expires > 0 and expires <= now_floor) then
    code = verdict(state, attempts, present, claim.lease)
    if code ~= "2" then
      plan_removal(id, state, at, entry, flags)
    end
  end
  codes[n] = code
end
remove_planned()
--- @include "lib/return_bytes"
return { 0, now_floor, table.concat(codes) }
