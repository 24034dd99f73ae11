-- The list of a queue. A place in it moves when jobs before it are taken, so it is looked for by the id that stood there: near where it was,
-- towards the head. One that is not there any more was taken, and all before it were: what stands there now has not been seen.
local LOOK_BACK = 2000

local function place_behind(key, at, id)
  local first = math.max(at - LOOK_BACK, 0)
  local entries = redis.call("LRANGE", key, first, at)
  for i = #entries, 1, -1 do
    if string.sub(entries[i], 1, -2) == id then
      return first + i
    end
  end
  return first
end

local function walk_line(key, at, id, n, number)
  local first, found = at == "" and 0 or place_behind(key, tonumber(at), id), {}
  for i, entry in ipairs(redis.call("LRANGE", key, first, first + n - 1)) do
    local one = string.sub(entry, 1, -2)
    local job = entry ~= "" and read_job(one)
    found[i] = { is_here(job, entry, number) and job or false, one, text_of(first + i - 1), one }
  end
  return found
end
