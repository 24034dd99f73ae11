-- Extended jobs that are ready at once, also those that defaults of their queue make extended (jobs/queue_defaults), stored by the simple publish command: no dependency, no unique or concurrency key, no ttl, priority 0. They
-- have what commands/extended/publish gives such a job: the fields of its hash with a timeline, and a place in the indexes of its type and tags.
--- @requires core/call, core/header, queues/registry, queues/notify, queues/type_keys, jobs/events, jobs/publish
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

-- In a queue from which workers lease by type, jobs go to the list of their type, in place of the ready list (queues/type_lists).
local function list_by_type(kind, type)
  local facts = queue_key("i", kind.number)
  if registry.is_extended_queue[kind.name] and redis.call("HGET", facts, "by_type") then
    kind.list, kind.job.entry, kind.type_list = nil, type_keys.LISTED, type_keys.list_key(kind.number, type)
    kind.header = pack_job(kind.job)
    redis.call("EXISTS", meta_key, facts, kind.type_list, type_keys.directory_key(kind.number))
  end
end

-- jobs: id and kind in turn, all of one queue, in their order.
local function write_type_lists(number, name, jobs)
  local count, directory, lists, types, typed = #jobs / 2, type_keys.directory_key(number), {}, {}, 0
  local step = redis.call("HINCRBY", queue_key("i", number), "back", count) - count
  for i = 1, #jobs, 2 do
    local kind, score = jobs[i + 1], text_of(PLACES / 2 + step + (i + 1) / 2)
    local members = lists[kind.type_list] or {}
    lists[kind.type_list] = members
    members[#members + 1], members[#members + 2] = score, jobs[i]
    typed = typed + (kind.type and 1 or 0)
    if kind.type and not types[kind.type] then
      redis.call("ZADD", directory, "LT", score, kind.type)
    end
    types[kind.type or ""] = true
  end
  for key, members in pairs(lists) do
    redis.call("ZADD", key, unpack(members))
  end
  if typed > 0 then
    redis.call("HINCRBY", queue_key("i", number), "typed", typed)
  end
  notify.notify_types(name, types)
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
      list_by_type(kind, fields.type)
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
  local score, by_queue = text_of(now_floor), {}
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
      if kind.type_list then
        local jobs = by_queue[kind.number] or {}
        by_queue[kind.number] = jobs
        jobs[#jobs + 1], jobs[#jobs + 2] = id, kind
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
  for number, jobs in pairs(by_queue) do
    write_type_lists(number, jobs[2].name, jobs)
  end
  events.write_events()
end
