-- Slots of recurring jobs that were served while Redis's clock was ahead. After the clock was set back they lie in the future, and count no more: else a
-- recurring job would make nothing until then.
--- @exports AHEAD_MS, is_ahead, slot_after

-- Clocks are corrected by less than this: a slot that was served before such a step must not be served again.
AHEAD_MS = 5000

-- Whether a slot, or a time, is further ahead of now than a period. A slot that was served is not ahead at all, but for a small step of the clock.
function is_ahead(at, now, every)
  return --[[ guard: slots-after-clock-set-back ]] at > now + math.max(every, AHEAD_MS)
end

-- The first slot of an interval that is later than `after`.
function slot_after(first, every, after)
  return after < first and first or first + (math.floor((after - first) / every) + 1) * every
end
