-- Rates, by the generic cell rate algorithm: tat is until when all that has started is paid for, and may be ahead of now by what a burst
-- needs. So no stretch of w ms sees more starts than burst + w * rate / period. Times are ms, with fractions.
do
  local function every(rate)
    return rate.periodMs / rate.rate
  end

  -- How many may start now.
  function limits.allowance(rate, tat)
    return math.floor(rate.burst - math.max((tat or 0) - now_floor, 0) / every(rate) + 0.000001)
  end

  -- From when on n may start, n up to burst.
  function limits.allowed_at(rate, tat, n)
    return math.ceil((tat or 0) - (rate.burst - n) * every(rate))
  end

  function limits.paid_until(rate, tat)
    return math.max(tat or 0, now_floor) + every(rate)
  end
end
