--[[
Put ready jobs whose queue was deleted into the dead-letter queue of another one: an older version could delete a queue that had jobs. Only jobs of
priority 0 were lost so.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, queue, group
ITEM id
queue: text  the name of the queue that they go to; it is created if it does not exist
group: text  their failure group

Returns {status, now_ms, recovered}.
Cost: O(1) per item, O(log N) per recovered job.
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry
--- @requires extended/jobs, extended/moves, extended/dead_jobs, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

if not registry.read_last_queue() then
  return { 0, now_floor, 0 }
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local recovered, is_known = 0, {}
for i = FIRST_ITEM, #ARGV do
  local header = read_job(ARGV[i])
  local number = header and header.state == READY and header.priority == 0 and header.queue
  if number and is_known[number] == nil then
    is_known[number] = redis.call("EXISTS", meta, queue_key("i", number)) == 2
  end
  local job = number and not is_known[number] and jobs.job_of(ARGV[i])
  if job and is_expired(job) then
    jobs.will_change(job)
    moves.conclude(job, nil, "expired")
  elseif job then
    recovered, job.queue = recovered + 1, registry.number_of(queue)
    registry.queue_names[job.queue] = queue
    dead_jobs.die(job, group, "queue " .. number .. " was deleted while the job was ready in it", nil)
  end
end

-- Write.
table.insert(plan.early, registry.write_new_queues)
commit(expiries)
return { 0, now_floor, recovered }
