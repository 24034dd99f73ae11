-- What happens to a job is told twice: to its timeline, which rich jobs have, and to whoever reads the namespace's events now.
-- The stream is there while somebody does (lua/scripts/listen.lua); what a full Redis refuses of it is left out.
--- @include "lib/full/note"
local stream = touch(space_key("events"))
local listens = redis.call("EXISTS", stream) == 1
local MOST_EVENTS = 10000

local function with_tracked(facts)
  local all = { tracked = true }
  for name, fact in pairs(facts or {}) do
    all[name] = fact
  end
  return all
end

local function announce(what, job, facts)
  if not listens then
    return
  end
  facts = job.x.tracked and with_tracked(facts) or facts
  local name, x, more = name_of(job.queue), job.x, next(facts or {}) and cjson.encode(facts) or ""
  lasts[#lasts + 1] = function()
    redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", MOST_EVENTS, "*", "e", what, "q", name, "i", job.id,
      "t", x.type or "", "g", x.tags or "", "d", more)
  end
end

-- facts: a table of what is worth to be known, or nothing.
local function tell(what, job, facts)
  if is_rich(job) and not job.is_gone then
    note(job, what, facts or {})
  end
  announce(what, job, facts)
end
