-- A job's header: the truth about it. 24 bytes, big-endian, then the body. One byte more and a 100 B job costs 32 B more.
-- format 8, state 8, flags 8, priority 8 (signed), tries left 16, attempts 16, lease 32, queue 32, entry 8,
-- expires-at ms 48 (0 = never), spared 8 (leases that ran out and were not charged: lib/unheard).
local FORMAT, HEADER, HEADER_BYTES = 1, ">BBBbHHI4I4BI6B", 24
local NO_JOB = string.rep("\0", HEADER_BYTES)
local READY, SCHEDULED, LEASED, DEAD, BLOCKED, HELD, DONE, CANCELLED = 1, 2, 3, 4, 5, 6, 7, 8
-- Flags: it has an x hash; it is rich, and so the full lane's; its body counts for the quota on bytes.
local HAS_EXTRAS, RICH, COUNTED = 1, 2, 128

local function unpack_job(value)
  local _, state, flags, priority, tries, attempts, lease, queue, entry, expires, spared = struct.unpack(HEADER, value)
  return {
    state = state, flags = flags, priority = priority, tries = tries, attempts = attempts,
    lease = lease, queue = queue, entry = entry, expires = expires, spared = spared,
  }
end

local function pack_job(job)
  return struct.pack(HEADER, FORMAT, job.state, job.flags, job.priority, job.tries, job.attempts,
    job.lease, job.queue, job.entry, job.expires, job.spared)
end

local function with_entry(header, entry)
  return string.sub(header, 1, 16) .. string.char(entry) .. string.sub(header, 18)
end

-- An entry of a ready list is a hint: it counts only while the header says ready, in this queue, with the same entry number.
local function is_here(job, entry, number)
  return job and job.state == READY and job.entry == string.byte(entry, -1) and job.queue == number
end

local function is_expired(job)
  return job.expires > 0 and job.expires <= now_floor
end

local function is_rich(job)
  return job.flags % 4 >= RICH
end
