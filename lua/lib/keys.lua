-- Keys of jobs and queues, all under the namespace's own hash tag: base is the prefix with "{namespace}".
local base = string.sub(meta, 1, -6)
-- What stands in due for all timers of the full lane; no queue has this number.
local FULL_LANE = "0"

local function job_key(id)
  return base .. "j" .. id
end

local function extras_key(id)
  return base .. "x" .. id
end

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

-- kind: r ready, s scheduled, l leased, d dead, g ghosts, i info; k, with its digest: the note of an idempotency key. Of the full lane:
-- p ready by priority, S scheduled, L leased, b blocked, h held, z ended and kept, o settings.
local function queue_key(kind, number)
  return base .. ":" .. kind .. number
end

-- What the full lane keeps for the whole namespace, such as its timers.
local function space_key(name)
  return base .. ":" .. name
end
