-- Indexes of extended jobs beside that of their state: by tag, type and failure group. They are updated from what the job was when it was read and
-- what it is now. The size of an index is always counted, never computed, so it cannot become wrong.
local function index_key(kind, name)
  return namespace_key(kind .. ":" .. name)
end

-- was, is: its names in the indexes of a kind before and after; at: its score; counts: the zset of the sizes, by name.
local keep_index
do
  local recounted, said = {}, { ZADD = {}, ZREM = {} }
  local function recount(key, counts, name)
    recounted[key] = touch(namespace_key(counts))
    lasts[#lasts + 1] = function()
      local n = redis.call("ZCARD", key)
      redis.call(n > 0 and "ZADD" or "ZREM", recounted[key], unpack(n > 0 and { n, name } or { name }))
    end
  end

  -- One command for each index: a job may have dozens of tags, and a batch dozens of jobs. free and write return the command, so that more members may
  -- be added.
  local function command_to(command, plan, kind, name, counts)
    local key = index_key(kind, name)
    if counts and not recounted[key] then
      recount(key, counts, name)
    end
    said[command][key] = said[command][key] or plan(command, key)
    return said[command][key]
  end

  function keep_index(kind, job, was, is, at, counts)
    if was and was ~= is then
      table.insert(command_to("ZREM", free, kind, was, counts), job.id)
    end
    if is and was ~= is then
      local call = command_to("ZADD", write, kind, is, counts)
      call[#call + 1], call[#call + 2] = type(at) == "string" and at or text_of(at or now_floor), job.id
    end
  end
end
