--[[
Give leases back whose answers reached nobody: to the front of their lines, the try not spent, the lease number not lowered. A job
that has expired, moved on or been leased anew stays as it is. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[3] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   id, lease

Returns {status, now_ms, codes}. Status: 0 done, 1 too late. Codes: a digit per item: 1 given back, 0 left alone.
Cost: O(log N) per item.
]]
local meta, waiting, expiries = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"

redis.call("EXISTS", meta, expiries)
local codes, given = {}, {}
for i = 3, #ARGV, 2 do
  local id, lease = ARGV[i], tonumber(ARGV[i + 1])
  local job = read_job(id)
  local ours = job and job.state == LEASED and job.lease == lease and not is_expired(job)
  if ours and not given[id] then
    given[id] = true
    local name = redis.call("HGET", queue_key("i", job.queue), "name")
    redis.call("EXISTS", queue_key("l", job.queue), queue_key("r", job.queue), queue_key("g", job.queue))
    given[#given + 1] = { id = id, job = job, name = name }
  end
  codes[#codes + 1] = ours and 1 or 0
end

for _, lease in ipairs(given) do
  redis.call("ZREM", queue_key("l", lease.job.queue), lease.id)
end
-- The last goes to the front first, so that they stand in the order in which they were taken.
for i = #given, 1, -1 do
  local id, job = given[i].id, given[i].job
  job.tries, job.attempts = math.min(job.tries + 1, 65535), job.attempts - 1
  join_line(job.queue, given[i].name, id, job)
  write_job(id, job)
end
write_lines("LPUSH")
return { 0, now_floor, table.concat(codes) }
