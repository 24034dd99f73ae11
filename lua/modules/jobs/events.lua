-- Events of simple jobs: emit while the script reads, write_events last of all. Events are written while a client is subscribed: then there is
-- a stream (commands/simple/read_events makes it), which is looked for once. A full Redis refuses them, and the operation goes on without.
--- @requires core/call
--- @exports has_subscribers, max_events, emit, emit_in, write_events

-- nil = not looked yet.
has_subscribers = nil
local events, stream = {}, nil

-- facts: JSON of what else is to be known, nil or "" = nothing. type, tags: of an extended job.
function emit(what, queue, id, facts, type_name, tags)
  if has_subscribers == nil then
    stream = base .. ":events"
    has_subscribers = --[[ guard: events-need-a-subscriber ]] redis.call("EXISTS", stream) == 1
  end
  if has_subscribers then
    events[#events + 1] = { what, queue or "", id, facts or "", type_name, tags }
  end
end

-- The same by the number of the queue.
function emit_in(number, what, id)
  if has_subscribers ~= false then
    emit(what, redis.call("HGET", queue_key("i", number), "name"), id)
  end
end

-- About how many events the namespace keeps, as the server has set it to which a client is subscribed. Writing may have begun: a key that cannot
-- be read now must not end the script.
function max_events()
  local kept = redis.pcall("GET", base .. ":listening")
  return math.max(type(kept) == "string" and tonumber(kept) or 10000, 1000)
end

-- Returns how many were written.
function write_events()
  if #events == 0 then
    return 0
  end
  local most, written = max_events(), 0
  for _, event in ipairs(events) do
    local what, queue, about, facts, type_name, tags = unpack(event, 1, 6)
    local more = (type_name or tags) and { "t", type_name or "", "g", tags or "" } or {}
    local id = redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", --[[ guard: events-are-bounded ]] most, "*", "e", what, "q", queue, "i", about, "d", facts, unpack(more))
    written = written + (type(id) == "string" and 1 or 0)
  end
  return written
end
