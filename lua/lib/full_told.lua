-- What happens to a job is told twice: to its timeline, which rich jobs have, and to whoever reads the namespace's events now.
local listens = redis.call("EXISTS", space_key("listening")) == 1
local MOST_ENTRIES, MOST_EVENTS = 100, 10000

-- The first entry stays, of the others the newest do.
local function note(job, what, facts)
  local n = tonumber(job.x.hn or 0)
  facts.what, facts.at, facts.n = what, now_floor, n
  put(job, "h" .. (n == 0 and 0 or 1 + (n - 1) % (MOST_ENTRIES - 1)), cjson.encode(facts))
  put(job, "hn", n + 1)
  facts.what, facts.at, facts.n = nil, nil, nil
end

local function with_tracked(facts)
  local all = { tracked = true }
  for name, fact in pairs(facts or {}) do
    all[name] = fact
  end
  return all
end

local function announce(what, job, facts)
  if listens then
    facts = job.x.tracked and with_tracked(facts) or facts
    write("XADD", space_key("events"), "MAXLEN", "~", MOST_EVENTS, "*", "e", what, "q", name_of(job.queue), "i", job.id,
      "t", job.x.type or "", "g", job.x.tags or "", "d", next(facts or {}) and cjson.encode(facts) or "")
  end
end

-- facts: a table of what is worth to be known, or nothing.
local function tell(what, job, facts)
  if is_rich(job) and not job.is_gone then
    note(job, what, facts or {})
  end
  announce(what, job, facts)
end
