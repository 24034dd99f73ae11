-- Moves the ready jobs of a queue from one kind of list to another, some in each script. Those that were ready before come before all that are ready by
-- now: the last one of the ready list is taken over first, each before the one that was taken over before it.
--- @requires core/call, core/header, core/plan, queues/type_keys, queues/type_lists, queues/fair_lists, queues/walks, extended/jobs
--- @exports begin_adoption, adopt_some

-- Entries of the ready list, or members of a zset, in one script.
local STEP = 24

-- Jobs that go to the front have lower steps than those that are taken over.
function begin_adoption(number)
  local facts = touch(queue_key("i", number))
  if tonumber(redis.call("HGET", facts, "front") or 0) > type_keys.FRONT_STEPS then
    write_early("HINCRBY", facts, "front", text_of(type_keys.FRONT_STEPS))
  end
end

-- Takes a job out of the list where it was found.
local LEAVE = {
  r = function(job)
    write_early("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  end,
  p = function(job)
    jobs.put(job, "aside", nil)
    remove_member(queue_key("p", job.queue), job.id)
  end,
  D = type_lists.leave_type_list,
  Q = fair_lists.leave_fair_list,
}

-- state: where the walk is: kind of the list, how many jobs of the ready list were taken over, score or place, id; the kind alone = at the beginning. kinds: which lists are walked, in this order. put(job, score, kind): puts a job into its
-- new list; keeps(job, kind): whether it stays where it is. Returns the state for the next step, nil = all jobs were looked at.
function adopt_some(number, state, kinds, keeps, put)
  local kind, count, at, id = string.match(state, "^(%a) ?(%d*) ?(%S*) ?(.*)$")
  local found, is_end = walks.walk_index(kind, kind ~= "Q", touch(queue_key(kind, number)), at, id, STEP, number)
  local adopted = tonumber(count) or 0
  for _, one in ipairs(found) do
    local job = one[1] and jobs.job_of(one[2], nil, one[1])
    at, id = one[3], one[4]
    -- guard: simple-jobs-stay-in-the-list
    if job and is_extended(job) and not keeps(job, kind) then
      LEAVE[kind](job)
      adopted = adopted + (kind == "r" and 1 or 0)
      put(job, kind == "r" and text_of((job.priority + 0.5) * PLACES + type_keys.ADOPTED_STEPS - adopted) or at)
    end
  end
  if is_end then
    return string.match(kinds, kind .. "(.)")
  end
  return kind .. " " .. text_of(adopted) .. " " .. at .. " " .. id
end
