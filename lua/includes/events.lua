-- An event of a job goes to its timeline, which extended jobs have, and to the clients that are subscribed to the namespace. The stream exists only
-- while there are some (commands/simple/read_events). What a full Redis refuses is left out.
--- @requires jobs/events
--- @include "timeline"
local emit_event, log_event

-- Facts that name the worker of a leased job; empty if it is not leased, or if its worker gave no name.
local function worker_facts(job)
  return { worker = job.state == LEASED and job.x.worker or nil }
end

do
  local stream = touch(namespace_key("events"))
  local has_stream = redis.call("EXISTS", stream) == 1
  local most = has_stream and max_events()

  local function with_tracked(facts)
    local all = { tracked = true }
    for name, fact in pairs(facts or {}) do
      all[name] = fact
    end
    return all
  end

  function emit_event(what, job, facts)
    if not has_stream then
      return
    end
    facts = job.x.tracked and with_tracked(facts) or facts
    local name, x, more = facts and facts.queue or name_of(job.queue), job.x, next(facts or {}) and cjson.encode(facts) or ""
    lasts[#lasts + 1] = function()
      redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", most, "*", "e", what, "q", name, "i", job.id,
        "t", x.type or "", "g", x.tags or "", "d", more)
    end
  end

  -- facts: a table, or nil. For a job that leaves its queue: queue = the new one, and from.
  function log_event(what, job, facts)
    if is_extended(job) and not job.is_gone then
      add_to_timeline(job, what, facts or {})
    end
    emit_event(what, job, facts)
  end
end
