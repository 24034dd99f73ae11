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

-- kind: r ready, s scheduled, l leased, d dead, g ghosts, i info; k, with its digest: the note of an idempotency key. Of the full lane:
-- p ready by priority, S scheduled, L leased, b blocked, h held, z ended and kept, o settings. A number is made into text once.
local digits = {}
local function queue_key(kind, number)
  local text = digits[number]
  if not text then
    text = tostring(number)
    digits[number] = text
  end
  return base .. ":" .. kind .. text
end
