-- Whether a stored job may grow: within the quota on bytes, and in Redis. New jobs have limits/quota_room.
--- @requires core/call, core/header, limits/beside_bytes, limits/store_room
--- @exports has_byte_room, has_room_for_field, present_bytes

local present
function present_bytes()
  present = present or tonumber(redis.call("HGET", meta_key, "bytes") or 0)
  return present
end

-- most: the quota, nil or 0 = there is none. A job that was stored before the quota does not count yet (commands/maintenance/backfill_quota).
function has_byte_room(job, growth, most)
  if not most or most == 0 or growth <= 0 or job.flags < COUNTED then
    return true
  elseif --[[ guard: growth-within-quota ]] present_bytes() + growth > most then
    return false
  end
  present = present + growth
  return true
end

-- Whether another value of a field of its hash has room. In a full Redis no longer value has.
function has_room_for_field(job, field, value, most)
  if #(value or "") > #(job.x[field] or "") and --[[ guard: longer-field-store-full ]] store_room.is_store_full() then
    return false
  elseif not most or most == 0 or job.flags < COUNTED then
    return true
  end
  local before = job.x[field]
  job.x[field] = value
  local growth = beside_bytes(job.x) - (job.x.beside or 0)
  job.x[field] = before
  return has_byte_room(job, growth, most)
end
