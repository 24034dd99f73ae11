-- Keys of fair queues (queues/fair_lists): a fair key is a text that jobs share, such as the name of a tenant. A queue takes jobs of its fair keys in turns.
--- @requires core/call
--- @exports fair_key_of, list_name_of, fair_list_key, turns_key, types_key, kept_turns_key

-- The fair key of a job, else its concurrency key; nil = it has neither, and shares its turns with all other such jobs of the queue.
function fair_key_of(job)
  return job.x.fair or job.x.ckey
end

-- What stands for a fair key in Redis: a long one is made short. "#" is the first letter of no other.
local LONGEST = 20
function list_name_of(key)
  return #key <= LONGEST and string.sub(key, 1, 1) ~= "#" and key or "#" .. string.sub(redis.sha1hex(key), 1, LONGEST)
end

-- Zset: ids of ready jobs of a fair key, by priority and place (extended/ready_entries). name: of list_name_of. With a type, "" = none: where workers lease
-- by type, those of this type once more.
function fair_list_key(number, name, type)
  local key = queue_key("Q", number) .. ":" .. name
  return type and key .. "\n" .. type or key
end

-- Zset: name of each fair key with ready jobs -> its turn. With a type: of those with ready jobs of the type, "" = without one; then a turn may be too low.
function turns_key(number, type)
  if not type then
    return queue_key("Q", number)
  end
  return queue_key("q", number) .. (type == "" and "-" or ":" .. type)
end

-- Set: types of jobs in lists of fair keys, "" = without one, where workers lease by type.
function types_key(number)
  return queue_key("q", number)
end

-- Zset: names of fair keys without a ready job whose turn is behind that of the job that was leased last -> their turn.
function kept_turns_key(number)
  return queue_key("A", number)
end
