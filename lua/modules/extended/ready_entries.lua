-- Ready lists as the extended path uses them: jobs go to the end, or to the front, or by priority to a zset.
--- @requires core/call, queues/registry, queues/ready_list, queues/type_lists, queues/fair_lists, extended/settings
--- @exports enter_ready_list, write_entered

local fronts = {}
local function join_front(job)
  local number = job.queue
  local list = fronts[number]
  if not list then
    list = { number = number, name = registry.name_of(number), stale_key = queue_key("g", number), entries = {}, size = 0, expires = 0 }
    fronts[number] = list
  end
  job.entry = ready_list.add_entry(list, job.id, job.entry)
  ready_list.track_expiry(list, job.expires)
end

-- By priority: a zset. The job may have stale entries in the list from when it, or an earlier job with its id, had priority 0: its entry number must be
-- none of theirs.
local function join_ranked(job)
  local number = job.queue
  local step = type_lists.step_of(job)
  -- guard: left-list-keeps-a-stale-entry
  job.entry = ready_list.next_entry_number(--[[ guard: priority-skips-stale-numbers ]] ready_list.entries_for(number, registry.name_of(number)), job.id, job.entry)
  redis.call("ZADD", queue_key("p", number), text_of((job.priority + 0.5) * PLACES + step), job.id)
  settings.wake(number)
end

function enter_ready_list(job)
  if job.is_fair or job.is_by_type then
    local join_list = job.is_fair and fair_lists.join_fair_list or type_lists.join_type_list
    join_list(job)
    settings.wake(job.queue, job.x.type or "")
  elseif job.priority ~= 0 or job.stand then
    join_ranked(job)
  elseif job.to_front then
    join_front(job)
  else
    ready_list.make_ready(job.queue, registry.name_of(job.queue), job.id, job)
  end
end

-- The entries of the ready lists, last of all.
function write_entered(expiries)
  ready_list.write_ready_lists("RPUSH", expiries)
  for number, list in pairs(fronts) do
    ready_list.push_entries("LPUSH", expiries, number, list)
  end
end
