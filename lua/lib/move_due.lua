-- Moves members of a queue's zset whose time has come: to the line, to the dead letter, or away. Planned while reading; fields of jobs
-- stay single values, for a table for each job was a sixth of the script.
local counts, spent, buried = { due = 0, returned = 0, died = 0, expired = 0 }, {}, {}

local function plan_move(kind, number, name, id, value)
  local _, state, flags, priority, tries, attempts, lease, at, entry, expires, spared = struct.unpack(HEADER, value or NO_JOB)
  -- A job whose key Redis removed, and that was made again under its own id, lives elsewhere: this is its old place.
  local is_its_own = at == number and state == (kind == "s" and SCHEDULED or LEASED)
  local is_free = is_its_own and kind == "l" and spared < MOST_SPARED and is_unheard(id, value)
  local what = kind == "s" and "ready" or "timed_out"
  if not is_its_own or expires > 0 and expires <= now_floor then
    counts.expired, what = counts.expired + 1, is_its_own and "expired"
    if is_its_own then
      doom(spent, id, flags)
    end
  elseif kind == "l" and tries == 0 and not is_free then
    counts.died, what = counts.died + 1, "died"
    count_lapse("died", name)
    local head = struct.pack(HEADER, FORMAT, DEAD, flags, priority, tries, attempts, lease, at, entry, 0, 0)
    local job = { id = id, number = number, head = head, keys = {} }
    add_keys(job.keys, id, flags)
    buried[#buried + 1] = job
  else
    local how = kind == "s" and "due" or "returned"
    counts[how] = counts[how] + 1
    if kind == "l" then
      count_lapse(how, name)
    end
    local line = line_up_of(number, name)
    local head = string.char(FORMAT, READY) .. string.sub(value, 3, 16) .. string.char(enter(line, id, entry))
    note_expiry(line, expires)
    put_head(job_key(id), value, is_free and spared_head(head, value, tries, spared) or head, not headers_only[id])
  end
  if listens ~= false and what then
    event(what, name, id, is_free and '{"charged":false}' or what == "died" and '{"reason":"lease_expired"}')
  end
end
