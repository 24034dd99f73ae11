-- Filters of job lists: a table {queue, states, type, group, tag, text, attributes}, all of which must hold. States: number, as text -> true.
--- @requires core/call, core/header, queues/registry
--- @exports MOST_BYTES, bytes_seen, fields_of, matches

local SHOWN = { "type", "tags", "attributes", "put", "worker", "fgroup", "fmessage", "fat", "fworker", "progress", "tracked", "ended", "failures", "crashes",
  "tries", "unindexed" }

-- Messages may be long: a script that has read so many bytes stops.
MOST_BYTES = 262144
bytes_seen = 0

-- The fields of the job's hash that a list shows.
function fields_of(job, id)
  local fields, values = {}, job.flags % 2 == HAS_EXTRAS and redis.call("HMGET", extras_key(id), unpack(SHOWN)) or {}
  for i, name in ipairs(SHOWN) do
    fields[name] = values[i] or nil
    bytes_seen = bytes_seen + (values[i] and #values[i] or 0)
  end
  return fields
end

-- No list by a tag has a job whose tags are not indexed, whatever index is read.
local function has_tag(fields, tag)
  for _, one in ipairs(fields.tags and --[[ guard: unindexed-tags-not-listed ]] not fields.unindexed and cjson.decode(fields.tags) or {}) do
    if one == tag then
      return true
    end
  end
end

local function has_attributes(fields, wanted)
  local own = fields.attributes and cjson.decode(fields.attributes) or {}
  for name, value in pairs(wanted) do
    if own[name] ~= value then
      return false
    end
  end
  return true
end

function matches(job, fields, filter)
  return (not filter.queue or job.queue == registry.find_queue(filter.queue)) and (not filter.states or filter.states[tostring(job.state)])
    and (not filter.type or fields.type == filter.type) and (not filter.group or fields.fgroup == filter.group)
    and (not filter.tag or has_tag(fields, filter.tag)) and (not filter.attributes or has_attributes(fields, filter.attributes))
    and (not filter.text or fields.fmessage and string.find(string.lower(fields.fmessage), filter.text, 1, true) ~= nil)
end
