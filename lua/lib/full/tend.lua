-- Indexes of rich jobs beside that of their state: by tag, type and failure group. tend keeps them true for a job that this script changes,
-- by what it was when it was read. How many an index has is never reckoned: it is counted, so it is never stale.
local function index_key(kind, name)
  return space_key(kind .. ":" .. name)
end

local recounted = {}
local function recount(key, counts, name)
  if counts and not recounted[key] then
    recounted[key] = touch(space_key(counts))
    lasts[#lasts + 1] = function()
      local n = redis.call("ZCARD", key)
      redis.call(n > 0 and "ZADD" or "ZREM", recounted[key], unpack(n > 0 and { n, name } or { name }))
    end
  end
end

-- counts: the zset of how many there are of each name.
local function keep_index(kind, job, was, is, at, counts)
  if was and was ~= is then
    recount(index_key(kind, was), counts, was)
    free("ZREM", index_key(kind, was), job.id)
  end
  if is and was ~= is then
    recount(index_key(kind, is), counts, is)
    write("ZADD", index_key(kind, is), text_of(tonumber(at or now_floor)), job.id)
  end
end
