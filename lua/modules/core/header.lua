-- A job's header: the truth about the job. src/redis/scripts/header.ts is the same codec in TypeScript; a test compares the two.
--- @requires core/call
--- @exports HEADER, HEADER_BYTES, LAST_BYTE, TO_LEASE, TO_ENTRY, EXPIRY_APART, TRIES, LEASE, TRIES_TO_LEASE
--- @exports STATE_AT, FLAGS_FROM, TRIES_FROM, ATTEMPTS_FROM, LEASE_FROM, QUEUE_FROM, ENTRY_AT, EXPIRES_FROM, FREE_RETRIES_AT
--- @exports PLACES, LMSTFY_API, NATIVE_API, FREE_LEASE, NO_JOB, READY, SCHEDULED, LEASED, DEAD, BLOCKED, HELD, DONE, CANCELLED
--- @exports HAS_EXTRAS, EXTENDED, COUNTED, unpack_job, pack_job, with_entry_number, is_live_entry, is_expired, is_extended
--- @exports assert_slot_stable, read_job, write_job, add_keys, first_lease, publish_time_of_lease, publish_time
--- @exports floor_of_leases, next_lease, without_time

-- 24 bytes, big-endian, then the body. One byte more and a job of 100 bytes costs 32 bytes more. API 8 bits, state 8, flags 8, priority
-- 8 (signed), tries left 16, attempts 16, lease 32, queue 32, entry 8, expires-at ms 48 (0 = never), free retries 8 (leases that expired
-- and cost no try: jobs/deliveries).
HEADER, HEADER_BYTES = ">BBBbHHI4I4BI6B", 24
-- For loops in which a table for each job is too expensive. The fields up to the lease number; up to the entry number; the bytes up to the
-- entry number, then the expiry. And single fields.
TO_LEASE, TO_ENTRY, EXPIRY_APART = ">BBBbHHI4", ">BBBbHHI4I4B", ">c17I6"
TRIES, LEASE, TRIES_TO_LEASE = ">H", ">I4", ">HHI4"
-- Where fields begin, counted from 1. Commands of Redis count from 0; its last byte is a text, which costs less than a number.
STATE_AT, FLAGS_FROM, TRIES_FROM, ATTEMPTS_FROM, LEASE_FROM, QUEUE_FROM, ENTRY_AT, EXPIRES_FROM, FREE_RETRIES_AT = 2, 3, 5, 7, 9, 13, 17, 18, 24
LAST_BYTE = "23"
-- The API that published the job: it decides what becomes of an expired lease (ADR 32). Older servers write 1 always, and never read it.
LMSTFY_API, NATIVE_API = 1, 2
-- Added to the API while the job waits: its last lease expired and cost no try, and its holder may still be heard (leases/claims).
FREE_LEASE = 128
-- Unpacks as a job in no state.
NO_JOB = string.rep("\0", HEADER_BYTES)
READY, SCHEDULED, LEASED, DEAD, BLOCKED, HELD, DONE, CANCELLED = 1, 2, 3, 4, 5, 6, 7, 8
-- Scores of ready jobs with a priority, in queue_key("p"): those of a priority begin at priority * PLACES, and its first job is in the middle.
-- 2^45, as a number: so it needs no name in Redis.
PLACES = 35184372088832
-- Flags: it has an `x` hash; it is a job of the extended path; 4 to 64 are part of its publish time (see below); its body counts for the quota
-- on bytes.
HAS_EXTRAS, EXTENDED, COUNTED = 1, 2, 128

function unpack_job(value)
  local api, state, flags, priority, tries, attempts, lease, queue, entry, expires, free_retries = struct.unpack(HEADER, value)
  return {
    api = api % FREE_LEASE, state = state, flags = flags, priority = priority, tries = tries, attempts = attempts,
    lease = lease, queue = queue, entry = entry, expires = expires, free_retries = free_retries, was_free = api >= FREE_LEASE,
  }
end

function pack_job(job)
  return struct.pack(HEADER, job.was_free and job.api + FREE_LEASE or job.api, job.state, job.flags, job.priority, job.tries, job.attempts,
    job.lease, job.queue, job.entry, job.expires, --[[ guard: undo-keeps-free-retries ]] job.free_retries)
end

function with_entry_number(header, entry)
  return string.sub(header, 1, ENTRY_AT - 1) .. string.char(entry) .. string.sub(header, EXPIRES_FROM)
end

-- An entry of a ready list is a hint: it is live only while the header says ready, in this queue, with the same entry number. Jobs of other
-- priorities have no entry there.
function is_live_entry(job, entry, number)
  return job and job.state == READY and --[[ guard: peek-checks-entry-number ]] job.entry == string.byte(entry, -1) and --[[ guard: peek-checks-queue-number ]] job.queue == number and --[[ guard: priority-job-not-in-list ]] job.priority == 0
end

function is_expired(job)
  -- guard: peek-checks-expiry
  return job.expires > 0 and job.expires <= now_floor
end

function is_extended(job)
  return job.flags % 4 >= EXTENDED
end

-- In a slot that is moving to this node, a missing job may be one that has not arrived. Redis refuses a command with two keys then, which
-- ends the script before it has changed anything.
function assert_slot_stable(id)
  -- guard: missing-job-touched
  redis.call("EXISTS", meta_key, job_key(id))
end

-- A job's header without its body; nil if there is no such job.
function read_job(id)
  local value = redis.call("GETRANGE", job_key(id), "0", LAST_BYTE)
  if value == "" then
    assert_slot_stable(id)
    return nil
  end
  return unpack_job(value)
end

-- Changes the header in place, and never copies the body.
function write_job(id, job)
  redis.call("SETRANGE", job_key(id), "0", pack_job(job))
end

-- Adds the keys of a job to a list of those that will be written or deleted. The script has touched them then.
function add_keys(keys, id, flags)
  keys[#keys + 1] = job_key(id)
  if flags % 2 == HAS_EXTRAS then
    redis.call("EXISTS", meta_key, extras_key(id))
    keys[#keys + 1] = extras_key(id)
  end
end

-- When a job was published, at the cost of no byte (ADR 22). A minted id has the time in it. The
-- leases of a job whose id was chosen are numbered from the clock on: the lease number less the attempts is the low 31 bits of the time, and
-- four flags have the next ones, 397 days in all. A release, an undo or a respawn shifts it by a millisecond or two. Older stores have no
-- such flags: there the time is not known.
local TIMED, TIME_FLAG, LOW, HIGH, BACK_MS = 4, 8, 2147483648, 34359738368, 86400000

-- The lease number of a new job, and its flags that say how it is to be read.
function first_lease(is_minted)
  if is_minted then
    return 0, 0
  end
  return --[[ guard: chosen-id-lease-from-clock ]] now_floor % LOW, --[[ guard: publish-time-beyond-31-bits ]] TIMED + TIME_FLAG * (math.floor(now_floor / LOW) % 16)
end

-- Unix ms, nil = not known.
function publish_time_of_lease(job)
  if math.floor(job.flags / TIMED) % 2 == 1 then
    local age = (now_floor - math.floor(job.flags / TIME_FLAG) % 16 * LOW - job.lease + job.attempts) % HIGH
    return age > HIGH - BACK_MS and now_floor or now_floor - age -- Up to a day ahead: the clock was set back.
  end
end

-- Unix ms, nil = not known.
function publish_time(id, job)
  return publish_time_of_lease(job) or #id == 16 and struct.unpack(">I6", id) or nil
end

-- After a Redis was restored from an older file, or a replica that lagged was promoted, numbers count from what the data says, which may be less than
-- what was granted. So servers send a lease floor, above all numbers that were granted before this run of the store, and when the run began (ADR 42).
local FLOOR = ">I4I6"
local lease_floor, run_began

-- 0 = none.
function floor_of_leases()
  if not lease_floor then
    lease_floor, run_began = struct.unpack(FLOOR, floor_text or "\0\0\0\0\0\0\0\0\0\0")
  end
  return lease_floor
end

-- The number of the next lease of a job: more than any that was granted, also by a run of the store whose data is lost. And true if it gives the
-- publish time up that the present number has: then the job must be an extended one, which has it elsewhere. A chosen id that was published in this
-- run has had no lease before it.
function next_lease(job)
  local lease = job.lease + 1
  if --[[ guard: lease-above-floor ]] lease >= floor_of_leases() then
    return lease, false
  end
  local published = publish_time_of_lease(job)
  if published and --[[ guard: chosen-id-of-this-run ]] published >= run_began then
    return lease, false
  end
  return lease_floor, published ~= nil
end

-- The flags of a job without those of its publish time.
function without_time(flags)
  return flags % TIMED + (flags >= COUNTED and COUNTED or 0)
end
