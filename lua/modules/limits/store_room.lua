-- Whether Redis has room for more data. A command that may run in a full Redis asks, where it would add to what is stored: a recurring job's next job, a
-- new target, a longer payload. Redis counts the same way (getMaxmemoryState): what is queued for replicas and for the AOF file does not count.
--- @exports is_store_full, STORE_FULL

-- The reply of a command that is refused because of it: Redis's own error.
STORE_FULL = { err = "OOM command not allowed when used memory > 'maxmemory'." }

-- nil = not asked yet. It costs Redis some 20 µs.
local fullness
function is_store_full()
  if fullness == nil then
    local info = redis.pcall("INFO", "memory")
    local number = function(name)
      return type(info) == "string" and tonumber(string.match(info, "\n" .. name .. ":(%d+)")) or 0
    end
    local most = number("maxmemory")
    fullness = most > 0 and number("used_memory") - number("mem_not_counted_for_evict") > most
  end
  return fullness
end
