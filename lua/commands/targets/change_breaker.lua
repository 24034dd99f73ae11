--[[
Open, try or close the circuit breaker of a push target, or of one of its origins. By Redis's clock: those of the servers may be wrong. Also in a full
Redis: each delivery frees memory.

KEYS meta, targets, target_changes
ARGV clock_ms, deadline_ms, target, origin, url, action, open_ms, max_open_ms, try_ms, answered
target: text          its name
origin: text          of its jobs' URLs; "" = the target's own URL
url: text             that was tried; counts without an origin
action: text          open: opens a closed one; try: takes the right to send one job; fail: that job has failed; close: the target works
open_ms: integer      how long it is open for the first time
max_open_ms: integer  at most
try_ms: integer       when another server may try, if this one dies
answered: text        to the request that opens it; "" = not known

Returns {status, now_ms, done, breaker}. Done: 1 = this call did it; for try: it has the right. Breaker: as it is stored now; "" = it is closed.
Cost: O(1).
]]

--- @requires core/call, core/iso_time, jobs/events, targets/breakers, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
fields.start_targets(targets, target_changes)

local function has(list, value)
  for _, one in ipairs(list or {}) do
    if one == value then
      return true
    end
  end
  return false
end

-- Whether the target has a breaker for what was tried: it may have changed meanwhile.
local function has_breaker()
  local text = fields.field_of("t:" .. target)
  local current = text and cjson.decode(text).target
  return current and --[[ guard: breaker-null-stays-closed ]] current.breakerSettings ~= cjson.null and (origin == "" and --[[ guard: breaker-of-another-url ]] current.url == url or origin ~= "" and has(current.origins, origin))
end

local field = origin == "" and "b:" .. target or "b:" .. target .. " " .. origin
local text = fields.field_of(field)
local known = text and cjson.decode(text)

local function store(open_until, openings, try_until, last_answer)
  text = breakers.breaker_text(open_until, openings, try_until, last_answer)
  fields.set_field(field, text)
end

local function emit_change(event, open_until)
  events.emit(event, "", "", cjson.encode({ target = target, origin = origin ~= "" and origin or nil, open_until = open_until }))
end

local function open()
  local openings = known and known.openings or 0
  local open_until = now_floor + --[[ guard: breaker-open-time ]] math.min(open_ms * 2 ^ math.min(openings, 20), max_open_ms)
  emit_change("breaker_opened", iso_time(open_until))
  store(open_until, openings + 1, 0, answered ~= "" and answered or nil)
end

local is_done = false
if not has_breaker() then
  return { 0, now_floor, 0, text or "" }
elseif action == "open" and not known or action == "fail" and known then
  open()
  is_done = true
elseif action == "try" and known and breakers.is_past(known.openUntilMs, now_floor, max_open_ms) and --[[ guard: one-server-probes ]] breakers.is_past(known.probeUntilMs, now_floor, try_ms) then
  store(known.openUntilMs, known.openings, now_floor + try_ms, known.lastAnswer)
  is_done = true
elseif action == "close" and known then
  emit_change("breaker_closed")
  fields.set_field(field, "")
  text, is_done = false, true
end
fields.write_version()
events.write_events()
return { 0, now_floor, is_done and 1 or 0, text or "" }
