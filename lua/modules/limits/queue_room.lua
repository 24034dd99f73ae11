-- Whether a stored job may move to another queue: within the quotas on queues and on the jobs of a queue. New jobs have limits/quota_room.
--- @requires core/call, queues/registry, queues/job_counts
--- @exports refused_move, count_move

local moved = {}
-- How many jobs this script has moved to a queue.
function count_move(queue)
  -- guard: moves-of-a-script-add-up
  moved[queue] = (moved[queue] or 0) + 1
end

-- most: {most_queues, most_jobs}: the quotas; nil or 0 = none. Returns nil, or why the job may not go there and how much there is.
function refused_move(job, queue, most)
  local number = registry.find_queue(queue)
  if number == job.queue then
    return nil
  elseif not number and (most.most_queues or 0) > 0 then
    local planned = registry.last_queue - registry.first_new_queue + 1
    local present = redis.call("HLEN", queues_key) + planned
    if --[[ guard: move-within-quota-on-queues ]] present >= most.most_queues then
      return "too_many_queues", present
    end
  end
  if (most.most_jobs or 0) > 0 then
    local present = number and job_counts.count_jobs(number, job_counts.ALL_INDEXES) or 0
    present = present + (moved[queue] or 0)
    if --[[ guard: move-within-quota-on-jobs ]] present >= most.most_jobs then
      return "queue_full", present
    end
  end
end
