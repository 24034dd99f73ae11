-- Keys that plain publishes, leases and acknowledgements have no use for: a function costs something even where nobody calls it.
-- Sets of ids: jobs that it waits for, and jobs that wait for it.
local function needs_key(id)
  return base .. "n" .. id
end

local function users_key(id)
  return base .. "u" .. id
end

-- kind: f, a hash of what a job waits for in vain -> how that ended; m, what it is still to be tied to; v, dependents that know that it is
-- dead; o, who holds a unique key (lib/full/unique); R, a recurring job.
local function named_key(kind, name)
  return base .. kind .. name
end

-- What the full lane keeps for the whole namespace, such as its timers.
local function space_key(name)
  return base .. ":" .. name
end
