-- The circuit breaker of a push target or of one of its origins, as the hash of the targets has it: JSON.
--- @exports breaker_text, is_past

-- last_answer: what the request was answered that opened it; nil = not known. leased_until: until then no other server leases a job that tries the origin
-- (limits/push_origins); nil = none is leased. All times are Unix ms.
function breaker_text(open_until, openings, probe_until, last_answer, leased_until)
  local leased = leased_until and string.format(",\"leasedUntilMs\":%.0f", leased_until) or ""
  local last = last_answer and ",\"lastAnswer\":" .. cjson.encode(last_answer) or ""
  return string.format("{\"openUntilMs\":%.0f,\"openings\":%d,\"probeUntilMs\":%.0f%s}", open_until, openings, probe_until, leased .. last)
end

-- A time that is further away than any can be was written before the clock was set back, or by another clock.
function is_past(at, now, longest_ms)
  return at <= now or --[[ guard: breaker-time-too-far-is-over ]] at > now + longest_ms
end
