-- Leases that did not reach a worker, or that expired: the delivery log, what it changes, and how leases are given back.
--- @requires core/call, core/header, queues/ready_list, jobs/events
--- @exports write_delivery_record, is_undelivered, MAX_FREE_RETRIES, with_free_retry, count_expired_lease, with_expired_leases
--- @exports planned_returns, extended_leases, plan_return, write_returns

-- The delivery log (ADR 16): leases whose responses may not have reached the client. The server that leases
-- writes a record with its leases, and deletes it when the responses have left. A record is what a server that crashed leaves behind.

-- A record is a list: when the last of its leases ends (Unix ms), then for each lease the tries, attempts and lease number of its header, packed, and
-- the id. size: of batch, counted by hand, for that is faster than to ask the table.
function write_delivery_record(sending, record, batch, size, last_end)
  -- guard: deliveries-recorded-with-lease
  if record ~= "" and size > 1 then
    batch[1] = last_end
    redis.call("HSET", sending, record, cmsgpack.pack(batch))
  end
end

-- True if a lease is in a record: the worker may never have seen the job. value: the job's header. All records are read once.
local undelivered
function is_undelivered(sending, id, value)
  if not undelivered then
    undelivered = {}
    for _, packed in ipairs(redis.call("HVALS", sending)) do
      local batch = cmsgpack.unpack(packed)
      for i = 2, #batch, 2 do
        undelivered[string.sub(batch[i], LEASE_FROM - TRIES_FROM + 1) .. batch[i + 1]] = true
      end
    end
  end
  -- guard: delivery-records-name-the-lease
  return undelivered[string.sub(value, LEASE_FROM, QUEUE_FROM - 1) .. id]
end

-- An undelivered lease that expires costs no try. Limited to 3: a job that crashes servers must still reach the dead-letter queue.
MAX_FREE_RETRIES = 3

-- The header of such a job, from its first 17 bytes and its value: its try is given back and the free retry counted. It is marked, for its lease
-- holder may still be heard. An older server leases a marked job without removing the mark.
function with_free_retry(head, value, tries, free_retries)
  local mark = string.char(string.byte(head) % FREE_LEASE + FREE_LEASE)
  local tries_left = struct.pack(TRIES, math.min(tries + 1, 65535))
  local numbers = tries_left .. string.sub(head, ATTEMPTS_FROM) .. string.sub(value, EXPIRES_FROM, FREE_RETRIES_AT - 1)
  return mark .. string.sub(head, STATE_AT, TRIES_FROM - 1) .. numbers .. string.char(free_retries + 1)
end

-- Counts leases that expired, by queue, for the end of a script's reply: (queue, returned, died) × N.

local expired = {}

-- outcome: "returned" = the job went back, or "died".
function count_expired_lease(outcome, name)
  local counts = expired[name] or { returned = 0, died = 0 }
  expired[name], counts[outcome] = counts, counts[outcome] + 1
end

function with_expired_leases(reply)
  for name, counts in pairs(expired) do
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = name or "", counts.returned, counts.died
  end
  return reply
end

-- Gives leases back that did not reach a worker: to the front of their ready lists, with the try. plan_return while the script reads,
-- write_returns when it writes.

-- The jobs that are given back; and id, lease of those that the extended path gives back, in turn.
planned_returns, extended_leases = {}, {}

-- Whether a lease has cost a queue something that only the extended path pays back: a start of its rate, or a turn.
local function has_cost(number)
  return redis.call("HEXISTS", queue_key("o", number), "tat") == 1 or redis.call("HEXISTS", queue_key("i", number), "fair") == 1
end

-- Returns true if the job is given back; false, true if the extended path is to do that. A job that has expired, moved on or been leased again stays as
-- it is. is_paid_back: so is what the lease has cost.
function plan_return(id, lease, is_paid_back)
  local job = read_job(id)
  local is_ours = --[[ guard: undo-puts-the-job-back ]] job and job.state == LEASED and --[[ guard: undo-checks-lease-number ]] job.lease == lease and not is_expired(job)
  if is_ours and (is_extended(job) or is_paid_back and --[[ guard: simple-undo-pays-back ]] has_cost(job.queue)) then
    extended_leases[#extended_leases + 1], extended_leases[#extended_leases + 2] = id, lease
    return false, true
  elseif is_ours and not planned_returns[id] then
    planned_returns[id] = true
    local name = redis.call("HGET", queue_key("i", job.queue), "name")
    redis.call("EXISTS", queue_key("l", job.queue), queue_key("r", job.queue), queue_key("g", job.queue))
    planned_returns[#planned_returns + 1] = { id = id, job = job, name = name }
    events.emit("released", name, id)
  end
  return is_ours
end

function write_returns(expiries)
  -- guard: undo-frees-before-it-adds
  for _, one in ipairs(planned_returns) do
    redis.call("ZREM", queue_key("l", one.job.queue), one.id)
  end
  -- The last goes to the front first, so that they stand in the order in which they were taken.
  for i = #planned_returns, 1, -1 do
    local id, job = planned_returns[i].id, planned_returns[i].job
    job.tries, job.attempts = math.min(job.tries + 1, 65535), job.attempts - 1
    ready_list.make_ready(job.queue, planned_returns[i].name, id, job)
    write_job(id, job)
  end
  ready_list.write_ready_lists("LPUSH", expiries)
  events.write_events()
end
