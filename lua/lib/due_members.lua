-- Up to a share of the members of a queue's zset whose time has come, with their headers; its key is touched.
local function due_members(kind, number, share, earliest)
  share = math.min(share, limit)
  local found = redis.call("ZRANGEBYSCORE", queue_key(kind, number), "-inf", now_floor, "WITHSCORES", "LIMIT", 0, share)
  local members = {}
  for i = 1, #found, 2 do
    local member, job = { id = found[i], keys = {} }, read_job(found[i])
    -- A job whose key Redis removed, and that was made again under its own id, lives elsewhere: this is its old place.
    if job and job.queue == tonumber(number) and job.state == (kind == "s" and SCHEDULED or LEASED) then
      member.job = job
      add_keys(member.keys, member.id, job)
    end
    members[#members + 1] = member
    earliest = math.min(earliest, tonumber(found[i + 1]))
  end
  limit = limit - #members
  return members, earliest
end

-- Takes members out of a queue's zset.
local function drop_members(kind, number, members)
  local ids = {}
  for _, member in ipairs(members) do
    ids[#ids + 1] = member.id
  end
  if #ids > 0 then
    redis.call("ZREM", queue_key(kind, number), unpack(ids))
  end
end
