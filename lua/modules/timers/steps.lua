-- Timers (commands/extended/run_timers): how many steps the script may do, and to what time a timer is set again. Most timers are for the head of a
-- zset of times. A function for a timer takes the rest of the timer's name, and its whole name.
--- @requires core/call, core/plan
--- @exports timers_key, start_timers, steps_left, use_steps, timer_results, due_in, some_of, finish, leave_to_server

-- Each job that a timer looks at is a step.
steps_left = 0
-- What the timers did: how many jobs they moved, and made in each queue; how many sessions were lost; which recurring jobs by cron need more slots;
-- which operations this server takes over, and how many it leaves to others; numbers of queues whose jobs it moves (extended/order_fairly).
timer_results = { due = 0, returned = 0, died = 0, expired = 0, made = {}, lost_sessions = 0, wanted_slots = {}, operations = {}, left = 0, fair_queues = {} }

-- limit: steps of this script, at most.
function start_timers(limit)
  timers_key, steps_left = namespace_key("timers"), limit
end

function use_steps(n)
  steps_left = steps_left - n
end

-- Up to steps_left members of a zset whose time has come. Afterwards the timer is set to the first that is left, or removed.
function due_in(key, what)
  local ids = redis.call("ZRANGEBYSCORE", touch(key), "-inf", now_floor, "LIMIT", 0, --[[ guard: retention-in-steps ]] --[[ guard: lost-sessions-in-bounded-steps ]] steps_left)
  steps_left = steps_left - #ids
  plan.lasts[#plan.lasts + 1] = function()
    local head = redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if head then
      redis.call("ZADD", timers_key, head, what)
    else
      redis.call("ZREM", timers_key, what)
    end
  end
  return ids
end

-- Takes some members of a set of dependents, for a script handles a few at a time; the rest makes the timer run again at once. Each costs as much as two
-- jobs that are due.
function some_of(key)
  local ids = redis.call("SRANDMEMBER", touch(key), math.ceil(steps_left / 2))
  steps_left = steps_left - 2 * #ids
  if #ids > 0 then
    free("SREM", key, unpack(ids))
  end
  return ids
end

-- A timer whose work is done is removed, unless this script has set it anew. One that has more to do goes behind the timers that came due meanwhile, so that
-- it does not block them.
function finish(what, is_done)
  if is_done and not --[[ guard: timer-set-anew-stays ]] is_planned(timers_key, what) then
    remove_member(timers_key, what)
  elseif not is_done then
    write("ZADD", timers_key, text_of(now_floor), what)
  end
end

-- The server that runs the timer does a step of another script. If it does not, the timer runs again, on any server.
local CLAIM_MS = 1000
function leave_to_server(number, what)
  timer_results.fair_queues[#timer_results.fair_queues + 1] = number
  write("ZADD", timers_key, text_of(now_floor + CLAIM_MS), what)
end
