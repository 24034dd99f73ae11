-- Ready jobs of queues from which workers lease by type: a zset for each type, and that of priorities for extended jobs without a type, with the scores
-- that extended/ready_entries gives. The first lease by type orders a queue so (queues/type_order). Simple jobs stay in the ready list.
--- @requires core/call, core/header, core/plan, queues/type_keys, extended/jobs
--- @exports step_of, touch_lists, join_type_list, leave_type_list, adopt_job

-- The place of a job that becomes ready among those of its priority.
function step_of(job)
  return job.stand or redis.call("HINCRBY", queue_key("i", job.queue), job.to_front and "front" or "back", job.to_front and -1 or 1)
end

-- By queue: the types whose lists change, and by how many jobs all together.
local changes = {}
local function write_changes(number, change)
  local directory = type_keys.directory_key(number)
  for type in pairs(change.types) do
    local first = redis.call("ZRANGE", type_keys.list_key(number, type), 0, 0, "WITHSCORES")
    -- guard: directory-follows-its-lists
    redis.call(first[1] and "ZADD" or "ZREM", directory, unpack(first[1] and { first[2], type } or { type }))
  end
  if change.more ~= 0 then
    redis.call("HINCRBY", queue_key("i", number), "typed", change.more)
  end
end

local function note_change(number, type, more)
  local change = changes[number]
  if not change then
    change = { types = {}, more = 0 }
    changes[number] = change
    touch(type_keys.directory_key(number))
    plan.lasts[#plan.lasts + 1] = function()
      write_changes(number, change)
    end
  end
  change.types[type], change.more = true, change.more + more
end

function touch_lists(job)
  touch(type_keys.list_key(job.queue, job.x.type))
  touch(queue_key("i", job.queue))
  if job.x.type then
    note_change(job.queue, job.x.type, 0)
  end
end

function join_type_list(job)
  redis.call("ZADD", type_keys.list_key(job.queue, job.x.type), text_of((job.priority + 0.5) * PLACES + step_of(job)), job.id)
  job.entry = type_keys.LISTED
  if job.x.type then
    note_change(job.queue, job.x.type, 1)
  end
end

function leave_type_list(job)
  remove_member(type_keys.list_key(job.queue, job.x.type), job.id)
  if job.x.type then
    note_change(job.queue, job.x.type, -1)
  end
end

-- Takes a ready job over that is in no such zset, or in that of priorities, with a score of its own.
function adopt_job(job, score)
  jobs.will_change(job).entry = type_keys.LISTED
  add_member(type_keys.list_key(job.queue, job.x.type), score, job.id)
  if job.x.type then
    note_change(job.queue, job.x.type, 1)
  end
end
