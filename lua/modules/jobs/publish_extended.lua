-- Extended jobs that are ready at once, also those that defaults of their queue make extended (jobs/queue_defaults), stored by the simple publish command: no dependency, no unique or concurrency key, no ttl, priority 0. They
-- have what commands/extended/publish gives such a job: the fields of its hash with a timeline, and a place in the indexes of its type and tags.
--- @requires core/call, queues/registry, jobs/events, jobs/publish
--- @exports complete_extended_kinds, write_extended

-- Index keys that will be written -> their members, score and id in turn; and the names of the tags, whose sizes are kept.
local members, tags = {}, {}

-- Whether the tags of jobs of this kind are indexed: a setting of the queue.
local function has_indexed_tags(kind)
  local settings = queue_key("o", kind.number)
  return not registry.is_extended_queue[kind.name] or redis.call("EXISTS", meta_key, settings) > 0 and redis.call("HEXISTS", settings, "unindexed") == 0
end

local function index_of_name(kind, name)
  local key = namespace_key(kind .. ":" .. name)
  members[key] = members[key] or {}
  return key
end

-- Completes what extended jobs share, by the text of their options, and touches the keys that write_extended writes. Reads only.
function complete_extended_kinds(kinds)
  local put, touched = text_of(now_floor), { meta_key, queues_key, namespace_key("tags"), namespace_key("events") }
  local retention_ms = redis.call("HGET", namespace_key("settings"), "retention_ms")
  for _, kind in pairs(kinds) do
    if kind.extended then
      local fields, extras, indexes = kind.fields or cjson.decode(kind.extended), {}, {}
      -- guard: unindexed-tags-simple-publish
      fields.unindexed = fields.tags and not has_indexed_tags(kind) and "1" or nil
      fields.keep = fields.keep or --[[ guard: namespace-retention-counts ]] retention_ms or nil
      fields.put, fields.since, fields.tries, fields.hn = put, put, kind.tries, "1"
      fields.h0 = '{"what":"published","queue":"' .. kind.name .. '","at":' .. put .. ',"n":0}'
      for field, value in pairs(fields) do
        extras[#extras + 1], extras[#extras + 2] = field, value
      end
      if fields.type then
        indexes[1] = index_of_name("y", fields.type)
      end
      for _, tag in ipairs(fields.tags and not fields.unindexed and cjson.decode(fields.tags) or {}) do
        indexes[#indexes + 1] = index_of_name("t", tag)
        tags[indexes[#indexes]] = tag
      end
      kind.extras, kind.indexes, kind.type, kind.tags = extras, indexes, fields.type, fields.tags
      publish.count_extras(kind, fields)
    end
  end
  for key in pairs(members) do
    touched[#touched + 1] = key
  end
  redis.call("EXISTS", unpack(touched))
end

-- codes: "0" for each item that was stored.
function write_extended(args, first, codes, kinds)
  local score = text_of(now_floor)
  for item, code in ipairs(codes) do
    local at = first + (item - 1) * 3
    local kind, id = kinds[args[at]], args[at + 1]
    if code == "0" and kind.indexes then
      if not registry.is_extended_queue[kind.name] then
        registry.is_extended_queue[kind.name] = true
        -- guard: extended-publish-marks-queue
        redis.call("HSET", queues_key, kind.name, -kind.number)
      end
      for _, key in ipairs(kind.indexes) do
        local list = members[key]
        list[#list + 1], list[#list + 2] = score, id
      end
      if not kind.is_converted then -- The engine writes the events of jobs that it takes for simple ones.
        events.emit("published", kind.name, id, '{"queue":"' .. kind.name .. '"}', kind.type, kind.tags)
      end
    end
  end
  for key, list in pairs(members) do
    if #list > 0 then
      -- guard: extended-publish-indexes
      redis.call("ZADD", key, unpack(list))
    end
    if #list > 0 and tags[key] then
      redis.call("ZADD", namespace_key("tags"), redis.call("ZCARD", key), tags[key])
    end
  end
  events.write_events()
end
