-- How many jobs a queue has.
--- @requires core/call
--- @exports ALL_INDEXES, count_keys, count_jobs

-- Letters of all indexes that hold jobs but the ready list, as queue_key has them.
ALL_INDEXES = "sldpSLbh"

-- How many of these kinds of keys a queue has, a letter each.
function count_keys(number, kinds)
  local keys = {}
  for kind in string.gmatch(kinds, ".") do
    keys[#keys + 1] = queue_key(kind, number)
  end
  return redis.call("EXISTS", unpack(keys))
end

-- How many jobs a queue has: in its ready list, in the lists of its types, in far slots, and in the indexes of these kinds, a letter each.
function count_jobs(number, kinds)
  local keys = { meta_key }
  for kind in string.gmatch("rgi" .. kinds, ".") do
    keys[#keys + 1] = queue_key(kind, number)
  end
  redis.call("EXISTS", unpack(keys))
  local facts = redis.call("HMGET", keys[4], "blanks", "far", "typed")
  local jobs = redis.call("LLEN", keys[2]) - --[[ guard: stale-entries-take-no-room ]] redis.call("SCARD", keys[3]) - (facts[1] or 0) + (facts[2] or 0)
    + --[[ guard: typed-jobs-count ]] (facts[3] or 0)
  for i = 5, #keys do
    jobs = jobs + redis.call("ZCARD", keys[i])
  end
  return jobs
end
