-- Keys of jobs and queues, all under the namespace's own hash tag: base is the prefix with "{namespace}".
local base = string.sub(meta, 1, -6)

local function job_key(id)
  return base .. "j" .. id
end

local function extras_key(id)
  return base .. "x" .. id
end

-- kind: r ready, s scheduled, l leased, d dead, g ghosts, i info; k, with its digest: the note of an idempotency key
local function queue_key(kind, number)
  return base .. ":" .. kind .. number
end
