-- What a job, or a reader of it, is told of its dependencies: how they ended, and their results.
--- @requires core/call, core/header, jobs/dependency_list
--- @exports dependency_results

-- Results of one job, in bytes.
local MOST_BYTES = 65536
-- States beyond those of the header: src/engine/core/dependency-results.ts.
local EXPIRED, DELETED, REPLACED, MISSING = 9, 10, 11, 12
local STATE_OF = { a = DONE, d = DEAD, c = CANCELLED, e = EXPIRED, x = DELETED, r = REPLACED, m = MISSING }
local OPEN = dependency_list.LETTERS.revived
-- By the letter: the sets of a job that this one is in. u and v: it is still to be told; r: it has been told, and may read the result.
local READ = { [OPEN] = "ur", a = "r", d = "vr" }

-- Whether the job that has the id now is the one that this job depends on. A job that was published later under its id is another one, and perhaps not for
-- the eyes of this one.
local function is_same_job(id, on, letter)
  for kind in string.gmatch(READ[letter], ".") do
    -- guard: result-of-another-job-hidden
    if redis.call("SISMEMBER", named_key(kind, on), id) == 1 then
      return true
    end
  end
  return letter == OPEN and redis.call("SISMEMBER", named_key("m", id), on) == 1
end

-- The state of a dependency that is not there any more. A result that a live job may read is kept: so it was deleted.
local function last_state(on, letter, has_ended)
  if letter == OPEN then
    letter = dependency_list.LETTERS[redis.call("HGET", namespace_key("ended"), on) or "missing"]
  elseif not has_ended and (letter == "a" or letter == "d") then
    return DELETED
  end
  return STATE_OF[letter] or MISSING
end

-- Whether a name matches a pattern, in which a star stands for any characters (src/domain/rights.ts).
local function matches(pattern, name)
  local at, in_name, star, taken = 1, 1, nil, 1
  while in_name <= #name do
    local char = string.sub(pattern, at, at)
    if char == "*" then
      star, taken, at = at, in_name, at + 1
    elseif char ~= "" and char == string.sub(name, in_name, in_name) then
      at, in_name = at + 1, in_name + 1
    elseif star then
      taken, at = taken + 1, star + 1
      in_name = taken
    else
      return false
    end
  end
  return string.find(pattern, "^%**$", at) ~= nil
end

-- Whether the token that named the dependencies may read a job that is in this queue now. patterns: each followed by a line feed; nil = of all queues.
local function may_read(job, patterns)
  if not patterns then
    return true
  end
  local name = redis.call("HGET", queue_key("i", job.queue), "name") or ""
  for pattern in string.gmatch(patterns, "[^\n]+") do
    if matches(pattern, name) then
      return true
    end
  end
  return false
end

-- Header, or nil if it is not there any more.
local function find_job(id, on, letter, patterns)
  if not READ[letter] then
    return nil
  end
  redis.call("EXISTS", meta_key, job_key(on), extras_key(on), named_key("r", on), users_key(on), named_key("v", on), named_key("m", id), namespace_key("ended"))
  local job = read_job(on)
  return job and is_same_job(id, on, letter) and --[[ guard: results-of-other-queues-hidden ]] may_read(job, patterns) and job or nil
end

-- "\0": no result; "\2": one for which no room is left; "\1", a byte with the length of its content type, that, and its length in four bytes, then itself.
local function result_of(on, job, room)
  local extras = extras_key(on)
  if job.state ~= DONE or job.flags % 2 ~= HAS_EXTRAS then
    return "\0", 0
  end
  local ctype, bytes = redis.call("HGET", extras, "rtype"), redis.call("HSTRLEN", extras, "result")
  if bytes == 0 and not ctype then
    return "\0", 0
  elseif --[[ guard: results-of-a-job-are-bounded ]] bytes > room then
    return "\2", 0
  end
  ctype = ctype or ""
  return "\1" .. string.char(#ctype) .. ctype .. struct.pack(">I4", bytes) .. (redis.call("HGET", extras, "result") or ""), bytes
end

-- list: of the job (jobs/dependency_list). patterns: of the queues whose results it may get. has_ended: it will not run again. For each entry: the length of the id in a byte, the id, the state in a byte, and
-- the result as above.
function dependency_results(id, list, patterns, has_ended)
  local parts, at, room = {}, 1, MOST_BYTES
  while at <= #list do
    local on, letter, next_at = dependency_list.entry_at(list, at)
    local job = find_job(id, on, letter, patterns)
    local state = job and (is_expired(job) and EXPIRED or job.state) or last_state(on, letter, has_ended)
    local result, bytes = "\0", 0
    if job then
      result, bytes = result_of(on, job, room)
    end
    room, at = room - bytes, next_at
    parts[#parts + 1] = string.char(#on) .. on .. string.char(state) .. result
  end
  return table.concat(parts)
end
