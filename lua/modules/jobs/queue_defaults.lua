-- Defaults of a queue for jobs of the native API, as extended/new_jobs applies them: what a job leaves out is taken from its queue. A job that gets a field of
-- the hash by them is an extended one. What the simple publish command cannot store is left to the extended path, with its whole call: code 8.
--- @requires core/call, core/header, queues/registry, jobs/publish, jobs/default_fields
--- @exports use_queue_defaults

-- What the origin of a job is a sum of, among others.
local FLAG_NO_TTL, FLAG_NO_TRIES, FLAG_NO_RETENTION = 8, 16, 32
local function has_flag(kind, what)
  return kind.origin % (2 * what) >= what
end

-- Number of a queue -> its defaults, with the retention of the namespace if they say none; false = it has none.
local by_queue = {}
local function defaults_of(number)
  if by_queue[number] == nil then
    local text = redis.call("HGET", queue_key("o", number), "defaults")
    local defaults = text and cjson.decode(text)
    -- guard: defaults-namespace-retention
    if defaults and not defaults.retentionMs then
      defaults.retentionMs = tonumber(redis.call("HGET", namespace_key("settings"), "retention_ms"))
    end
    by_queue[number] = defaults
  end
  return by_queue[number]
end

-- The fields of the hash of an extended job, nil for a simple one: a default of its queue may make it extended.
local function fields_of(kind, defaults)
  local fields = kind.extended and cjson.decode(kind.extended)
    or { --[[ guard: defaults-keep-attributes ]] attributes = kind.more ~= "" and kind.more or nil, --[[ guard: defaults-keep-retention ]] keep = has_flag(kind, FLAG_NO_RETENTION) and "0" or nil }
  return (default_fields.fill_fields(fields, defaults) or kind.extended) and fields or nil
end

local function apply_defaults(kind, defaults)
  kind.ttl = --[[ guard: defaults-keep-ttl ]] has_flag(kind, FLAG_NO_TTL) and defaults.ttlMs or kind.ttl
  kind.tries = --[[ guard: defaults-keep-tries ]] has_flag(kind, FLAG_NO_TRIES) and defaults.tries or kind.tries
  kind.fields = fields_of(kind, defaults)
  -- An extended job that is not ready at once, or expires, has timers; a simple one that is far ahead, or expires before it is due, would not know its
  -- due time.
  -- guard: defaults-timers-extended
  local has_timers = kind.fields and (kind.delay > 0 or kind.ttl > 0)
  kind.is_beyond = --[[ guard: default-priority-is-extended ]] (defaults.priority or 0) ~= 0 or has_timers or --[[ guard: defaults-far-due-time ]] kind.slot or --[[ guard: due-time-behind-the-ttl ]] kind.ttl > 0 and kind.ttl < kind.delay
  if kind.is_beyond then
    return
  elseif kind.fields and not kind.extended then
    kind.is_converted, kind.extended, kind.extras, publish.has_extended_kinds = true, kind.more, nil, true
    kind.job.flags = kind.job.flags + EXTENDED + (kind.more == "" and HAS_EXTRAS or 0)
  end
  publish.place_kind(kind)
end

-- args, first, codes: as jobs/publish has them; sizes: of the calls.
function use_queue_defaults(args, first, codes, sizes)
  local has_defaults = false
  for _, kind in pairs(publish.publish_kinds) do
    local defaults = kind.native and registry.is_extended_queue[kind.name] and defaults_of(kind.number)
    if defaults then
      has_defaults = true
      apply_defaults(kind, defaults)
    end
  end
  if not has_defaults then
    return
  end
  local item, size, touched = 1, string.gmatch(sizes, "%d+"), { meta_key }
  while item <= #codes do
    local last, is_beyond = item + (size() or 1) - 1, false
    for at = item, --[[ guard: call-is-extended-as-a-whole ]] last do
      local kind = publish.publish_kinds[args[first + at * 3 - 3]]
      is_beyond = is_beyond or codes[at] == "0" and kind.is_beyond
      touched[#touched + 1] = kind.is_converted and extras_key(args[first + at * 3 - 2]) or nil
    end
    for at = item, is_beyond and last or 0 do
      codes[at] = codes[at] == "0" and "8" or codes[at]
    end
    item = last + 1
  end
  redis.call("EXISTS", unpack(touched))
end
