-- What a publish does not set is the queue's default, or else the value below.
local DEFAULT_TRIES = 5
local function use_defaults(options)
  local defaults, x = settings_of(number_of(options.queue)).defaults or {}, options.x or {}
  options.ttl_ms = options.ttl_ms or defaults.ttlMs or 0
  options.tries = options.tries or defaults.tries or DEFAULT_TRIES
  options.priority = options.priority or defaults.priority
  x.retry = x.retry or defaults.retry and cjson.encode(defaults.retry)
  x.keep = x.keep or defaults.retentionMs or namespace_setting("retention_ms")
  options.x = x
end
