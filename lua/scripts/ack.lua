--[[
Remove jobs whose work is done (or that are not wanted any more), whatever their state. An item that names its lease is refused when
that lease is not the present one. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   claim, size, ids

An item is a run of acknowledgements that share a claim: "lease,queue"; lease 0 = any. Ids: one after the other, size bytes each, for an
argument of its own costs as much as ten of them. Returns {status, now_ms, codes}. Status: 0 done, 1 too late.
Codes: a digit per id: 0 no such job, 1 removed, 2 refused: the lease was lost, 3 removed, but its lease had run out, 4 removed under a second or
later lease, 5 removed before it was ever leased, 6 its queue is a full one: nothing has changed, ask the full lane.
Cost: O(log N) per id.
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
--- @include "lib/claims"
--- @include "lib/verdict"

for i = 3, #ARGV, 3 do
  add_run(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
-- Codes are text: to make text of a number costs more than all else that is done with it.
local values, keys = read_values(ids)
local codes, unpack_head, seen, floor = {}, struct.unpack, doomed, now_floor
for _, run in ipairs(runs) do
  local claim = run.claim
  local kinds = claim.kinds
  local gone = #doomed
  for at = run.first, run.last do
    local id = ids[at]
    local head, expires = unpack_head(">c17I6", values[at] or NO_JOB)
    local kind = kinds[head] or kind_of(claim, head)
    codes[at] = kind.code
    local leased = kind.leased
    if kind.is_there and (seen[id] or expires > 0 and expires <= floor) then
      codes[at] = "0"
    elseif leased then
      gone = gone + 1
      seen[id], seen[gone], leased[#leased + 1] = true, keys[at], id
    elseif kind.goes then
      plan_removal(id, kind.state, kind.number, kind.entry, kind.flags)
      gone = #doomed
    end
  end
end
remove_planned()
--- @include "lib/return_bytes"
return { 0, now_floor, table.concat(codes) }
