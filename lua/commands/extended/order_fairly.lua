--[[
Move some ready jobs of a queue that became fair to the lists of their fair keys; or, if it is fair no more, back to the one order. Workers lease all the
while: a job that is in no list of a fair key counts as one without a key.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, number
number: integer  the queue's

Returns {status, now_ms, next_ms}. Next_ms: when the next step is due, 0 = all jobs are where they belong.
Cost: O(32 log N).
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/type_lists, queues/fair_keys, queues/fair_lists, queues/ready_list
--- @requires queues/adoption, extended/jobs, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

local function joins_no_fair_list(job)
  return not fair_lists.joins_fair_list(job)
end

local function stays_nowhere()
  return false
end

-- To where the job would be if its queue had not been fair.
local function put_back(job, score)
  if registry.is_by_type(number) then
    return type_lists.adopt_job(job, score)
  end
  jobs.will_change(job).entry = ready_list.next_entry_number(ready_list.entries_for(number, registry.name_of(number)), job.id, job.entry)
  jobs.put(job, "aside", job.priority == 0 and "1" or nil)
  add_member(queue_key("p", number), score, job.id)
end

local function adopt_back(state)
  local next_state = adoption.adopt_some(number, state, "Q", stays_nowhere, put_back)
  -- A key that got jobs while the keys were read may have been missed.
  if next_state or redis.call("EXISTS", fair_keys.turns_key(number)) > 0 then
    return next_state or "Q"
  end
  write("HDEL", queue_key("i", number), "fair", "served_turn", "common_turn")
  delete_key(fair_keys.kept_turns_key(number))
end

-- Read.
local facts, timers, what = touch(queue_key("i", number)), namespace_key("timers"), "Y" .. text_of(number)
local state = redis.call("HGET", facts, "fair_order")
if state and registry.fairness_of(number) == "on" then
  adoption.begin_adoption(number)
  state = adoption.adopt_some(number, state, "rpD", joins_no_fair_list, fair_lists.add_to_fair_list)
elseif state then
  state = adopt_back(state)
end

-- Write.
if state then
  write("HSET", facts, "fair_order", state)
  set_timer(what, now_floor)
else
  write("HDEL", facts, "fair_order")
  remove_member(timers, what)
end
return { 0, now_floor, commit(expiries) }
