-- Rates, by the generic cell rate algorithm: tat is the time until which all that has started is paid for; it may be ahead of now by what a burst
-- needs. So no w ms have more starts than burst + w * rate / period. Times are ms, with fractions.
--- @requires core/call
--- @exports allowance, allowed_at, paid_until, paid_back_until

local function every(rate)
  return rate.periodMs / rate.rate
end

-- No debt is above a burst. A higher one was computed with another rate, or before the clock was set back, and starts again at 0. One second more is
-- accepted: small corrections of clocks must not give a burst away.
local MOST_STEP_MS = 1000
local function owed(rate, tat)
  local ms = --[[ guard: pause-saves-one-burst ]] math.max((tat or 0) - now_floor, 0)
  return --[[ guard: rate-owes-one-burst ]] ms <= rate.burst * every(rate) + MOST_STEP_MS and ms or 0
end

-- How many may start now.
function allowance(rate, tat)
  return math.floor(rate.burst - owed(rate, tat) / every(rate) + 0.000001)
end

-- From when on n may start, n up to burst.
function allowed_at(rate, tat, n)
  return math.ceil(now_floor + owed(rate, tat) - (rate.burst - n) * every(rate))
end

function paid_until(rate, tat)
  return now_floor + owed(rate, tat) + every(rate)
end

-- A start at `since` is undone. What has become due since then counts as worked off: later starts may have used it.
function paid_back_until(rate, tat, since)
  local rest = every(rate) - --[[ guard: late-undo-pays-back-the-rest ]] math.max(now_floor - since, 0)
  return now_floor + math.max(owed(rate, tat) - math.max(rest, 0), 0)
end
