-- The settings of the namespace (docs/api.md, Settings), or a default. Read once, by scripts that need them.
local namespace_setting
do
  local all
  function namespace_setting(name, otherwise)
    if not all then
      all = {}
      local fields = redis.call("HGETALL", touch(namespace_key("settings")))
      for i = 1, #fields, 2 do
        all[fields[i]] = tonumber(fields[i + 1])
      end
    end
    return all[name] or otherwise
  end
end

-- How long a lease lasts if the call does not say.
local function own_ttr(job)
  return tonumber(job.x.ttr or (settings_of(job.queue).defaults or {}).ttrMs or namespace_setting("ttr_ms", 60000))
end
