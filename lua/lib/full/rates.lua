-- Rates, by the generic cell rate algorithm: tat is until when all that has started is paid for, and may be ahead of now by what a burst
-- needs. So no stretch of w ms sees more starts than burst + w * rate / period. Times are ms, with fractions.
do
  local function every(rate)
    return rate.periodMs / rate.rate
  end

  -- Nothing owes more than a burst: what does was reckoned by another rate, or by a clock that has been set back since, and begins anew.
  -- A second more is waited for: clocks that are only put right must not give a burst away.
  local MOST_STEP_MS = 1000
  local function owed(rate, tat)
    local ms = math.max((tat or 0) - now_floor, 0)
    return ms <= rate.burst * every(rate) + MOST_STEP_MS and ms or 0
  end

  -- How many may start now.
  function limits.allowance(rate, tat)
    return math.floor(rate.burst - owed(rate, tat) / every(rate) + 0.000001)
  end

  -- From when on n may start, n up to burst.
  function limits.allowed_at(rate, tat, n)
    return math.ceil(now_floor + owed(rate, tat) - (rate.burst - n) * every(rate))
  end

  function limits.paid_until(rate, tat)
    return now_floor + owed(rate, tat) + every(rate)
  end
end
