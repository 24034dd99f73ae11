--[[
Open, try or close the circuit breaker of a push target, or of one of its origins. By Redis's clock: those of the servers may be wrong. Also in a full
Redis: each delivery frees memory.

KEYS[1] meta            hash: the namespace's marker; only its name is used
KEYS[2] targets         hash: the push targets of the namespace (targets/fields)
KEYS[3] target_changes  zset: field of targets -> number of its last change
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] target       its name
ARGV[4] origin       of its jobs' URLs; "" = the target's own URL
ARGV[5] url          that was tried; counts without an origin
ARGV[6] action       open: opens a closed one; try: takes the right to send one job; fail: that job has failed; close: the target works
ARGV[7] open_ms      how long it is open for the first time
ARGV[8] max_open_ms  at most
ARGV[9] try_ms       when another server may try, if this one dies

Returns {status, now_ms, done, breaker}. Status: 0 done, 1 too late. Done: 1 = this call did it; for try: it has the right. Breaker: as it is stored
now; "" = it is closed.
Cost: O(1).
]]
local meta, targets, target_changes = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms, target, origin, url, action = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local open_ms, max_open_ms, try_ms = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

--- @requires core/call, core/iso_time, jobs/events, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
start_targets(targets, target_changes)

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
  local text = field_of("t:" .. target)
  local current = text and cjson.decode(text).target
  return current and --[[ guard: breaker-null-stays-closed ]] current.breakerSettings ~= cjson.null and (origin == "" and --[[ guard: breaker-of-another-url ]] current.url == url or origin ~= "" and has(current.origins, origin))
end

local field = origin == "" and "b:" .. target or "b:" .. target .. " " .. origin
local text = field_of(field)
local known = text and cjson.decode(text)

local function store(open_until, openings, try_until)
  text = string.format("{\"openUntilMs\":%.0f,\"openings\":%d,\"probeUntilMs\":%.0f}", open_until, openings, try_until)
  set_field(field, text)
end

local function emit_change(event, open_until)
  emit(event, "", "", cjson.encode({ target = target, origin = origin ~= "" and origin or nil, open_until = open_until }))
end

local function open()
  local openings = known and known.openings or 0
  local open_until = now_floor + --[[ guard: breaker-open-time ]] math.min(open_ms * 2 ^ math.min(openings, 20), max_open_ms)
  emit_change("breaker_opened", iso_time(open_until))
  store(open_until, openings + 1, 0)
end

-- A time that is further away than any can be was written before the clock was set back, or by another clock.
local function is_over(at, longest_ms)
  return at <= now_floor or --[[ guard: breaker-time-too-far-is-over ]] at > now_floor + longest_ms
end

local is_done = false
if not has_breaker() then
  return { 0, now_floor, 0, text or "" }
elseif action == "open" and not known or action == "fail" and known then
  open()
  is_done = true
elseif action == "try" and known and is_over(known.openUntilMs, max_open_ms) and --[[ guard: one-server-probes ]] is_over(known.probeUntilMs, try_ms) then
  store(known.openUntilMs, known.openings, now_floor + try_ms)
  is_done = true
elseif action == "close" and known then
  emit_change("breaker_closed")
  set_field(field, "")
  text, is_done = false, true
end
write_version()
write_events()
return { 0, now_floor, is_done and 1 or 0, text or "" }
