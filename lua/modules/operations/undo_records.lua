-- Records of the jobs that an operation ends: all that brings a job back (operations/restore).
--- @requires core/call, core/header, core/plan, queues/registry, queues/type_keys, queues/fair_lists, jobs/dependents, extended/jobs, extended/indexes, limits/store_room, limits/beside_bytes
--- @requires operations/undo_keys
--- @exports record_of_end, keep_record, kept_bytes, add_revoked

-- Jobs and bytes of an operation, at most: what it ends beyond cannot come back.
local MOST_JOBS, MOST_BYTES = 1000000, 268435456

local has_listeners
local function is_listened_to()
  if has_listeners == nil then
    has_listeners = redis.call("EXISTS", meta_key, namespace_key("events")) > 1
  end
  return has_listeners
end

local function hash_of(key)
  local all, fields = redis.call("HGETALL", key), {}
  for i = 1, #all, 2 do
    fields[all[i]] = all[i + 1]
  end
  return fields
end

-- The score of a job in the index of its state; false = it has none there: in its ready list, or in the list of a far slot.
local function score_of(job)
  if job.state == READY and job.entry == type_keys.LISTED then
    return redis.call("ZSCORE", fair_lists.fair_list_of(job) or type_keys.list_key(job.queue, job.x.type), job.id)
  end
  local kind = indexes.kind_of(job) or (job.priority ~= 0 or job.x.aside) and "p"
  return kind and redis.call("ZSCORE", queue_key(kind, job.queue), job.id)
end

-- All of a job that brings it back. Its place: of its state as it is now.
local MOST_READERS = 100
local function pack_record(job, at, facts)
  local value = job.body and pack_job(job) .. job.body or pack_job(job) .. redis.call("GETRANGE", job.key, HEADER_BYTES, -1)
  facts.value, facts.queue, facts.x, facts.at, facts.ended = value, registry.name_of(job.queue), job.x, at, now_floor
  if job.x.waits then
    facts.needs = redis.call("SMEMBERS", needs_key(job.id))
    for _, id in ipairs(redis.call("SMEMBERS", named_key("m", job.id))) do
      table.insert(facts.needs, id)
    end
    facts.failed = hash_of(named_key("f", job.id))
  end
  if job.state == DONE and job.x.users then
    -- Dependents that may still read its result.
    facts.readers = redis.call("SRANDMEMBER", touch(named_key("r", job.id)), MOST_READERS + 1)
    facts.tells_others = facts.tells_others or #facts.readers > MOST_READERS or nil
  end
  facts.is_told = is_listened_to() or nil
  return cmsgpack.pack(facts)
end

-- The jobs that are told of the end of a job, by their ids; true = they may be more than one script reads, nil = there are none.
local function told_of(job)
  local ids = dependents.dependents_of(job)
  return #ids >= dependents.MOST_SHOWN or #ids > 0 and ids or nil
end

-- The record of a job that an operation is about to end, and by how many bytes it may grow; or nil, and why there is none. due: when a far job is due, if the
-- walk has read it. with_grace: its worker is requested to stop first, so the job may end in another way. cascade: its dependents end with it.
function record_of_end(job, due, with_grace, cascade)
  if job.state == LEASED and with_grace then
    return cmsgpack.pack({ lease = job.lease }), --[[ guard: undo-counts-revoked-jobs ]] HEADER_BYTES + jobs.body_bytes_of(job) + beside_bytes(job.x)
  end
  local at = score_of(job) or job.state == SCHEDULED and (due or job.x.due)
  if job.state == SCHEDULED and not at then
    return nil, "due_unknown"
  end
  local is_kept = job.state >= DONE
  return pack_record(job, at or nil, {
    tells_others = cascade and told_of(job) or nil,
    kept_until = is_kept and redis.call("ZSCORE", namespace_key("keeping"), job.id) or nil,
  })
end

-- Plans to keep a record. kept: {jobs, bytes} that the operation has so far. grows_by: bytes, nil = none. Returns whether there is room.
kept_bytes = 0
function keep_record(operation, kept, id, record, grows_by)
  local bytes = #record + (grows_by or 0)
  if --[[ guard: undo-keeps-some-jobs ]] kept.jobs >= MOST_JOBS or --[[ guard: undo-keeps-some-bytes ]] kept.bytes + bytes > MOST_BYTES then
    return false
  end
  kept.jobs, kept.bytes, kept_bytes = kept.jobs + 1, kept.bytes + bytes, kept_bytes + #record
  write("RPUSH", undo_keys.undo_ids_key(operation), id)
  write("HSET", undo_keys.undo_records_key(operation), id, record)
  return true
end

-- A job loses its lease by the cancel of an operation (its field `undo`), which has kept that it was requested. From now on it can be brought back.
-- is_given_back: its worker, or its time, had ended the lease before.
function add_revoked(job, is_given_back)
  local key = touch(undo_keys.undo_records_key(job.x.undo))
  -- guard: undo-keeps-revoked-jobs
  if redis.call("HEXISTS", key, job.id) == 1 and not store_room.is_store_full() then
    jobs.put(job, "undo", nil)
    write("HSET", key, job.id, pack_record(job, nil, { was_given_back = is_given_back or nil, tells_others = told_of(job) }))
  end
end
