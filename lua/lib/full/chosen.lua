-- What the namespace has chosen (docs/api.md, settings), or what holds if it has not: read once, by scripts that ask.
local chosen
do
  local all
  function chosen(name, otherwise)
    if not all then
      all = {}
      local fields = redis.call("HGETALL", touch(space_key("settings")))
      for i = 1, #fields, 2 do
        all[fields[i]] = tonumber(fields[i + 1])
      end
    end
    return all[name] or otherwise
  end
end

-- How long a lease of a job lasts, if nobody says.
local function own_ttr(job)
  return tonumber(job.x.ttr or (settings_of(job.queue).defaults or {}).ttrMs or chosen("ttr_ms", 60000))
end
