-- Limits at a lease: whether a queue gives a job now, and what happens to a job whose key has no slot.
--- @requires core/call, core/header, core/plan, extended/settings, extended/moves, limits/rates
--- @requires limits/concurrency_keys, limits/slots, limits/at_ready, limits/push_origins
--- @exports may_start, park, spend, refund

-- Whether a queue gives a job now. A timer is set if its rate allows one later.
function may_start(number)
  local set = settings.settings_of(number)
  if --[[ guard: paused-queue-no-lease ]] set.paused or set.max and slots.running_in(number) >= set.max then
    return false
  elseif set.rate and rates.allowance(set.rate, set.tat) < 1 then
    -- guard: rate-sets-a-timer
    set_timer("P" .. number, rates.allowed_at(set.rate, set.tat, 1))
    return false
  end
  return true
end

-- Holds a job until its key has a slot (limits/held_jobs), or until its origin works.
function park(job, origin)
  if origin then
    return push_origins.hold_for_origin(job, origin, at_ready.held_place(job))
  end
  moves.hold_again(job)
end

-- tat_of: gives the new tat for a rate and its present one.
local function change_tats(job, tat_of)
  local set, key = settings.settings_of(job.queue), job.x.ckey and concurrency_keys.concurrency_key_of(job)
  if set.rate then
    set.tat = tat_of(set.rate, set.tat)
    write("HSET", queue_key("o", job.queue), "tat", string.format("%.3f", set.tat))
  end
  if key and set.krate then -- One minute more: a test's clock may be slow.
    key.tat = tat_of(set.krate, key.tat)
    write("SET", namespace_key("T" .. key.name), string.format("%.3f", key.tat), "PX", text_of(math.ceil(key.tat - now_floor) + 60000))
  end
end

-- A job is leased: its queue and its key have paid for it.
function spend(job)
  change_tats(job, rates.paid_until)
end

-- A lease is undone: its queue and its key have not paid for it. A simple job does not know when it was leased, but its server does. leased_ms: nil = it
-- was right now.
function refund(job, leased_ms)
  local since = tonumber(job.x.leased or --[[ guard: late-simple-undo-pays-back-the-rest ]] leased_ms or now_floor)
  change_tats(job, function(rate, tat)
    return rates.paid_back_until(rate, tat, since)
  end)
end
