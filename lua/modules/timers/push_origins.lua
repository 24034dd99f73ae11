-- Jobs that are held for an origin whose circuit breaker was open: ready again when it is closed, and one of them when it is to be tried.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/timeline, extended/moves, limits/concurrency_keys, limits/push_origins
--- @requires timers/steps
--- @exports call_for_origin

-- How soon a breaker is looked at again that lets no job pass, ms.
local LOOK_AGAIN_MS = 2000
local MOST_CALLED = 32

-- The job that tries the origin goes to the front, all others behind the jobs of origins that work.
local function call(job, is_trial)
  moves.leave(job)
  job.to_front = is_trial
  moves.set_ready(job)
end

function call_for_origin(name, what)
  local number = tonumber(string.match(name, "^%d+"))
  local key = concurrency_keys.concurrency_key_named(name, number)
  local ids = redis.call("ZRANGE", key.held_key, 0, math.min(steps.steps_left, MOST_CALLED) - 1)
  steps.use_steps(#ids)
  local room
  for _, id in ipairs(ids) do
    local job = jobs.job_of(id)
    if not job or job.is_gone or job.state ~= HELD or not job.x.hold then
      remove_member(key.held_key, id)
    else
      room = room or --[[ guard: held-until-origin-works ]] push_origins.origin_room(number, job.x.hold)
      if room > 0 then
        call(job, room == 1)
        room = room - 1
      end
    end
  end
  if #ids == 0 then
    remove_member(steps.timers_key, what)
  else
    write("ZADD", steps.timers_key, text_of(now_floor + (room ~= nil and room <= 1 and LOOK_AGAIN_MS or 0)), what)
  end
end
