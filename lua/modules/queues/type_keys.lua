-- Keys of queues from which workers lease by type (queues/type_lists).
--- @requires core/call
--- @exports LISTED, FRONT_STEPS, ADOPTED_STEPS, list_key, directory_key

-- The entry number of a ready job that is in a list of its type, or in that of jobs without one; numbers of entries of ready lists begin with 1.
LISTED = 0

-- The steps of jobs among those of their priority (extended/ready_entries), in a queue that is ordered by type: those that are put at the front have lower
-- ones than FRONT_STEPS; those that were ready before it was ordered, lower ones than ADOPTED_STEPS. Both count down; all others count up from 0. -2^41 and -2^40:
-- written as numbers, so that they need no names in Redis.
FRONT_STEPS, ADOPTED_STEPS = -2199023255552, -1099511627776

-- Zset: ids of ready jobs, by priority and place (extended/ready_entries). type: nil = none.
function list_key(number, type)
  return type and queue_key("e", number) .. ":" .. type or queue_key("p", number)
end

-- Zset: type -> the lowest score of its list. Exact after each script.
function directory_key(number)
  return queue_key("D", number)
end
