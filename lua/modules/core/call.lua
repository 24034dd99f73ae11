-- What every call begins with: the keys of its namespace, and its clock.
--
-- All keys of a namespace begin with `base`: the prefix and the hash tag "{namespace}", which the key of its marker has too. In src, only
-- redis/keys.ts spells keys.
--- @exports base, meta_key, queues_key, EXTENDED_TIMERS, use_namespace, job_key, extras_key, queue_key, needs_key, users_key, named_key
--- @exports session_key, namespace_key, now_floor, now_ceil, floor_text, start_clock, text_of

-- In `due`, this stands for the first timer of the extended path. No queue has this number.
EXTENDED_TIMERS = "0"

-- meta: key of the namespace's marker. queues: key of the hash of its queues, nil if the script looks up none.
function use_namespace(meta, queues)
  base, meta_key, queues_key = string.sub(meta, 1, -6), meta, queues
end

-- A job: header and body.
function job_key(id)
  return base .. "j" .. id
end

-- A hash of what most jobs do not have.
function extras_key(id)
  return base .. "x" .. id
end

-- What belongs to a queue, by its kind:
--   r ready list, s scheduled, l leased, d dead: jobs of the simple path; f slots of jobs that are scheduled far ahead;
--   g stale entries of the ready list, i facts, o settings; k, with a digest in place of the number: an idempotency record.
--   p ready jobs by priority, S scheduled, L leased, b blocked, h held, z done or cancelled (score below zero) and kept: jobs of the extended path.
-- A number is made into text once.
local digits = {}
function queue_key(kind, number)
  local text = digits[number]
  if not text then
    text = tostring(number)
    digits[number] = text
  end
  return base .. ":" .. kind .. text
end

-- The jobs that a job waits for.
function needs_key(id)
  return base .. "n" .. id
end

-- The jobs that wait for a job.
function users_key(id)
  return base .. "u" .. id
end

-- kind: f, hash: failed dependency of a job -> how it ended; m, set: what it is still to be tied to; v, set: dependents that know that the
-- job is dead; o, string: the holder of a unique key; R, hash: a recurring job.
function named_key(kind, name)
  return base .. kind .. name
end

-- The session of a worker: what its process last said of itself.
function session_key(worker)
  return base .. ":W:" .. worker
end

-- What there is once in a namespace, such as its timers.
function namespace_key(name)
  return base .. ":" .. name
end

-- The clock of a call: Redis's own, or a test's.

-- "Is it due" compares with now_floor, a deadline counts from now_ceil: so nothing is ever early. Both are Unix ms.
-- clock_ms: a test's time, "" = Redis's. Ten bytes: Redis's too, and the lease floor, which core/header reads. Returns true if the deadline has
-- passed: the callers have got an error by now, so the script must change nothing. deadline_ms 0 = none.
local FLOOR_BYTES = 10
function start_clock(clock_ms, deadline_ms)
  if #clock_ms == FLOOR_BYTES then
    floor_text, clock_ms = clock_ms, ""
  end
  if clock_ms ~= "" then
    now_floor = tonumber(clock_ms)
    now_ceil = now_floor
  else
    local time = redis.call("TIME")
    local seconds_ms, part_ms = time[1] * 1000, time[2] / 1000
    now_floor, now_ceil = seconds_ms + math.floor(part_ms), seconds_ms + --[[ guard: now-ceil-is-the-next-millisecond ]] math.ceil(part_ms)
  end
  -- guard: deadline-stops-script
  return deadline_ms > 0 and now_floor > deadline_ms
end

-- A time as text with all its digits. Each is made once: it costs as much as half a command.
local texts = {}
function text_of(ms)
  local text = texts[ms]
  if not text then
    text = string.format("%.0f", ms)
    texts[ms] = text
  end
  return text
end
