-- Events of extended jobs: each goes to the job's timeline, and to the clients that are subscribed to the namespace. The stream exists only while there
-- are some (commands/simple/read_events). What a full Redis refuses is left out.
--- @requires core/call, core/header, core/plan, queues/registry, jobs/events, extended/jobs, extended/settings
--- @exports worker_facts, emit_event, log_event, last_change, held_at

-- A fact as JSON. Jobs of a batch share most of their facts.
local known = {}
local function json_of(fact)
  local json = known[fact]
  if not json then
    json = cjson.encode(fact)
    known[fact] = json
  end
  return json
end

-- The field of the entry number n, as text.
local function place_of(n)
  return "h" .. (n == "0" and 0 or 1 + (n - 1) % (settings.namespace_setting("max_history", 100) - 1))
end

-- What stands in the timeline, and where. Jobs of a batch whose facts are the same table have equal entries most of the time.
local last_facts, last_n, known_entry, last_name
local function entry_of(what, n, facts)
  if facts ~= last_facts or n ~= last_n then
    local entry = '{"what":"' .. what .. '","at":' .. text_of(now_floor) .. ',"n":' .. n
    for name, fact in pairs(facts) do
      entry = entry .. ',"' .. name .. '":' .. json_of(fact)
    end
    last_facts, last_n, known_entry, last_name = facts, n, entry .. "}", place_of(n)
  end
  return last_name, known_entry
end

-- The timeline of an extended job: the first entry stays, and the newest of the others.
local function add_to_timeline(job, what, facts)
  local n = job.x.hn or "0"
  local name, entry = entry_of(what, n, facts)
  jobs.put(job, name, entry)
  jobs.put(job, "hn", text_of(n + 1))
end

-- Facts that name the worker of a leased job; empty if it is not leased, or if its worker gave no name.
function worker_facts(job)
  return { worker = job.state == LEASED and job.x.worker or nil }
end

-- has_stream: nil = not looked yet.
local stream, has_stream, most
local function find_stream()
  stream = touch(namespace_key("events"))
  has_stream = redis.call("EXISTS", stream) == 1
  most = has_stream and events.max_events()
end

-- Facts of an event with those that only clients get: they are in no timeline.
local function with_more(job, facts)
  if not job.x.tracked and not job.event_facts then
    return facts
  end
  local all = { tracked = job.x.tracked and true or nil }
  for _, some in ipairs({ facts or {}, job.event_facts or {} }) do
    for name, fact in pairs(some) do
      all[name] = fact
    end
  end
  return all
end

-- To the clients alone.
function emit_event(what, job, facts)
  if has_stream == nil then
    find_stream()
  end
  if not has_stream then
    return
  end
  facts = with_more(job, facts)
  local name, x, more = facts and facts.queue or registry.name_of(job.queue), job.x, next(facts or {}) and cjson.encode(facts) or ""
  plan.lasts[#plan.lasts + 1] = function()
    redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", most, "*", "e", what, "q", name, "i", job.id,
      "t", x.type or "", "g", x.tags or "", "d", more)
  end
end

-- facts: a table, or nil. For a job that leaves its queue: queue = the new one, and from.
function log_event(what, job, facts)
  if is_extended(job) and not job.is_gone then
    add_to_timeline(job, what, facts or {})
  end
  -- guard: recurring-jobs-emit-events
  emit_event(what, job, facts)
end

-- The last entry of the timeline, as JSON, whose name is wanted; nil = there is none, or the job has no history.
local function last_entry(job, is_wanted)
  for n = (job.x.hn or 0) - 1, 0, -1 do
    local entry = job.x[place_of(text_of(n))]
    if not entry or tonumber(string.match(entry, '"n":(%d+)')) ~= n then
      return nil -- It was overwritten by a newer one.
    elseif is_wanted(string.match(entry, '"what":"([^"]*)"')) then
      return entry
    end
  end
end

-- The last change, as JSON: a job that became ready, or was held, in its turn has not changed.
local IN_ITS_TURN = { ready = true, held = true }
function last_change(job)
  return last_entry(job, function(what)
    return --[[ guard: job-in-its-turn-is-unchanged ]] not IN_ITS_TURN[what]
  end)
end

-- When the job was held last, Unix ms; 0 = not known.
function held_at(job)
  local entry = last_entry(job, function(what)
    return what == "held"
  end)
  return entry and tonumber(string.match(entry, '"at":(%d+)')) or 0
end
