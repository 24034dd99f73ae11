-- Where jobs of a state are, by the letters of their indexes; each index gives up to what is left of limit.
local PLACES, places = { "pr", "Ssf", "Ll", "d", "b", "h", "z", "z" }, {}
local seen, matched, passed = 0, 0, 0
--- @include "remove"
local function purge(job)
  matched = matched + 1
  remove(job)
end

local function from_zset(kind)
  local key, first = queue_key(kind, number), kind == "z" and skip or 0
  for _, id in ipairs(limit > seen and redis.call("ZRANGE", touch(key), first, first + limit - seen - 1) or {}) do
    local job = job_of(id)
    local is_wanted = job and job.state == state and job.queue == number
    seen = seen + 1
    if is_wanted and removes == "1" then
      purge(job)
    elseif job and kind == "z" then
      passed, matched = passed + 1, matched + (is_wanted and 1 or 0)
    else
      free("ZREM", key, id)
    end
  end
end
for kind in string.gmatch("pSsLldbhz", ".") do
  places[kind] = from_zset
end
