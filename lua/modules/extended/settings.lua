-- Settings of queues and of the namespace (docs/api/queues.md), each read once for each script; and wake-ups of servers that wait for jobs of a queue.
--- @requires core/call, core/plan, queues/registry, queues/notify
--- @exports settings_of, wake, namespace_setting, own_ttr

local settings = {}
local NUMBERS, TEXTS = { "max", "kmax", "tat", "grace" }, { "rate", "krate", "defaults", "fair" }
-- A field of a pause: "pauser" of the whole queue, or "pause t:mail" by type ("" = jobs without one), "pause f:…" by fair key, "pause k:…" by concurrency key.
-- pauses.k: by the names of limits/concurrency_keys. next_end: when the next pause ends, nil = none does; ended: fields of those that have ended, but were
-- not removed yet.
local function add_pause(known, number, field, text)
  local pause, kind, name = cjson.decode(text), string.match(field, "^pause (%a):(.*)$")
  local ends = (kind or pause.at == tonumber(known.paused)) and pause.ends
  if ends and ends <= now_floor then
    known.ended[#known.ended + 1] = field
    known.paused = kind and known.paused or nil
    return
  end
  known.next_end = ends and math.min(known.next_end or ends, ends) or known.next_end
  if kind then
    known.pauses = known.pauses or { t = {}, f = {}, k = {} }
    known.pauses[kind][kind == "k" and number .. ":" .. redis.sha1hex(name) or name] = true
  end
end

-- Of a queue, by its number.
function settings_of(number)
  local known = settings[number]
  if not known then
    known = { ended = {} }
    local all = redis.call("HGETALL", touch(queue_key("o", number)))
    for i = 1, #all, 2 do
      known[all[i]] = all[i + 1]
    end
    for i = 1, #all, 2 do
      if string.sub(all[i], 1, 5) == "pause" and all[i] ~= "paused" then
        add_pause(known, number, all[i], all[i + 1])
      end
    end
    for _, field in ipairs(NUMBERS) do
      known[field] = tonumber(known[field])
    end
    for _, field in ipairs(TEXTS) do
      known[field] = known[field] and cjson.decode(known[field])
    end
    -- guard: strict-order-runs-one
    known.kmax = known.strict and 1 or known.kmax
    settings[number] = known
  end
  return known
end

-- Servers that wait for jobs of a queue are woken when all is written. type: of a job that is ready, "" = it has none; nil = any may be ready.
local woken = {}
function wake(number, type)
  local types = woken[number]
  if not types then
    types = {}
    woken[number] = types
    plan.lasts[#plan.lasts + 1] = function()
      notify.notify_types(registry.name_of(number), types)
    end
  end
  types[type or notify.ANY] = true
end

-- Of the namespace, or a default.
local of_namespace
function namespace_setting(name, otherwise)
  if not of_namespace then
    of_namespace = {}
    local fields = redis.call("HGETALL", touch(namespace_key("settings")))
    for i = 1, #fields, 2 do
      of_namespace[fields[i]] = tonumber(fields[i + 1])
    end
  end
  return of_namespace[name] or otherwise
end

-- How long a lease lasts if the call does not say.
function own_ttr(job)
  return tonumber(job.x.ttr or (settings_of(job.queue).defaults or {}).ttrMs or namespace_setting("ttr_ms", 60000))
end
