-- What jobs of a batch share: read once for each distinct text of options, with the keys that will be written for them touched.
local kinds = {}

local function read_options(text)
  local delay, ttl, tries, minted, name, attributes = string.match(text, "^(%d+),(%d+),(%d+),(%d),([^,]*),(.*)$")
  local number, expires = number_of(name), tonumber(ttl) > 0 and now_ceil + ttl or 0
  -- An id that was chosen may have been another job's before: see lib/full/new.
  local job = {
    state = READY, flags = (attributes ~= "" and HAS_EXTRAS or 0) + count_flag, priority = 0, tries = tonumber(tries), attempts = 0,
    lease = minted % 2 == 1 and 0 or now_floor % 2147483648, queue = number, entry = 1, expires = expires, spared = 0,
  }
  local kind = { number = number, attributes = attributes, minted = minted % 2 == 1, native = minted > "1" }
  redis.call("EXISTS", due, expiries, queue_key("i", number), queue_key("r", number), queue_key("g", number))
  if tonumber(delay) > 0 then
    -- Entries in far slots have number 0: one that a former life of a chosen id left there is not taken for the job.
    job.state, job.entry, kind.due = SCHEDULED, kind.minted and 0 or 1, now_ceil + delay
    -- What expires before it is due is looked at when it expires.
    if expires > 0 and expires < kind.due then
      kind.due = expires
    end
    kind.slot = touch_schedule(number, kind.due, kind.minted)
  else
    kind.line = line_up_of(number, name)
    note_expiry(kind.line, expires)
  end
  kind.header = pack_job(job)
  kinds[text] = kind
  return kind
end
