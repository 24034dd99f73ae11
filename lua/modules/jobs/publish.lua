-- The core of a publish. Items are options, id and body, three arguments each, from place `first` of args on. plan_publish finds those that can be stored, limits may refuse some (limits/call_quotas, limits/queue_settings), write_publish stores the others. Codes are a text for each
-- item, "0" = stored.
--- @requires core/call, core/header, core/values, queues/registry, queues/notify, queues/ready_list, jobs/schedule, jobs/removal, limits/beside_bytes
--- @exports publish_kinds, has_extended_kinds, has_native_kinds, has_whole_kinds, place_kind, count_extras, plan_publish, write_publish

-- Text of options -> what the jobs share that have it.
publish_kinds = {}

-- True if one of the jobs is an extended one: then jobs/publish_extended must complete what they share.
has_extended_kinds = false

-- True if one of the jobs is of the native API: then the defaults of its queue apply to it (jobs/queue_defaults).
has_native_kinds = false

-- True if one of the jobs is of a call that is stored as a whole or not at all (jobs/whole_calls).
has_whole_kinds = false

-- Where jobs of a kind go, and their header: by what they say, and once more if defaults of their queue say something else. Reads and touches only.
function place_kind(kind)
  local job, number = kind.job, kind.number
  local expires = kind.ttl > 0 and now_ceil + kind.ttl or 0
  job.tries, job.expires = tonumber(kind.tries), expires
  if kind.delay > 0 then
    -- Entries in far slots have number 0: one that an earlier job with a chosen id left there is not taken for this job.
    job.state, job.entry, kind.due = SCHEDULED, --[[ guard: chosen-id-is-no-earlier-entry ]] kind.minted and 0 or 1, --[[ guard: due-time-is-exact ]] kind.at or now_ceil + kind.delay
    -- A job that expires before it is due is looked at when it expires.
    -- guard: far-looks-at-expiry
    if expires > 0 and expires < kind.due then
      kind.due = expires
    end
    -- A time that the caller gave is shown: the list of a far slot is not searched for it.
    kind.slot = schedule.touch_schedule(number, kind.due, --[[ guard: chosen-id-not-far ]] kind.minted and --[[ guard: run-at-not-far ]] --[[ guard: chosen-id-not-far ]] not kind.at)
  else
    kind.list = ready_list.entries_for(number, kind.name)
    ready_list.track_expiry(kind.list, expires)
  end
  kind.header = pack_job(job)
end

-- What the hash of such a job has counts as its body does (limits/beside_bytes).
function count_extras(kind, fields)
  local beside = kind.job.flags >= COUNTED and --[[ guard: extras-count-at-publish ]] beside_bytes(fields) or 0
  if beside > 0 then
    local extras = kind.extras
    kind.beside, extras[#extras + 1], extras[#extras + 2] = beside, "beside", beside
  end
end

-- Options: "delay_ms,ttl_ms,tries,origin,queue,more" (commands/simple/publish), read once for each distinct text. Touches the keys that will be written for them.
local function read_options(text, counted_flag, due, expiries)
  local delay, ttl, tries, origin, name, more = string.match(text, "^(%d+),(%d+),(%d+),(%d+),([^,]*),(.*)$")
  local number = registry.number_of(name)
  local is_minted, is_native, is_extended_job = origin % 2 == 1, origin % 4 > 1, origin % 8 > 3
  -- An id that was chosen may have been in use before: its leases are not numbered from 0.
  local lease, flags = first_lease(is_minted)
  flags = flags + (more ~= "" and HAS_EXTRAS or 0) + (is_extended_job and EXTENDED or 0) + counted_flag
  local job = {
    api = is_native and NATIVE_API or LMSTFY_API, state = READY, flags = flags, priority = 0, attempts = 0,
    lease = lease, queue = number, entry = 1, free_retries = 0,
  }
  local kind = {
    number = number, name = name, delay = tonumber(delay), ttl = tonumber(ttl), tries = tries, origin = origin, more = more, job = job,
    minted = is_minted, native = is_native, whole = origin % 256 > 127,
  }
  if origin % 128 > 63 then -- Not by now_ceil: a job that is due within this millisecond is not due yet.
    kind.at, kind.delay = kind.delay, math.max(kind.delay - now_floor, 0)
  end
  has_native_kinds, has_whole_kinds = has_native_kinds or is_native, has_whole_kinds or kind.whole
  if is_extended_job then
    has_extended_kinds, kind.extended = true, more
  elseif more ~= "" then
    kind.extras = { "attributes", more }
    count_extras(kind, { attributes = more })
  end
  redis.call("EXISTS", due, expiries, queue_key("i", number), queue_key("r", number), queue_key("g", number))
  place_kind(kind)
  publish_kinds[text] = kind
  return kind
end

-- Queues in which a job is removed that was leased: another job may start, if there is a limit.
local freed = {}
local function remove_simple(id, job)
  removal.plan_removal(id, job.state, job.queue, job.entry, job.flags)
  -- guard: replaced-frees-slot
  if job.state == LEASED then
    freed[#freed + 1] = redis.call("HGET", queue_key("i", job.queue), "name")
  end
end

-- Code 1: the id is in use. An expired job is removed; an extended one by the extended path, which a native job is left to: code 8.
local function check_ids(args, first, codes)
  for item = 1, #codes do
    local id = args[first + item * 3 - 2]
    local present = read_job(id)
    if present and is_expired(present) and not is_extended(present) then
      remove_simple(id, present)
    elseif present then
      codes[item] = --[[ guard: expired-extended-id-is-free ]] is_expired(present) and publish_kinds[args[first + item * 3 - 3]].native and "8" or "1"
    end
  end
end

-- Code 1 also for the id of a job whose dependents have not been told of its end: they would take the new job for it.
local function check_ended(chosen, args, first, codes)
  local ids = {}
  for n, item in ipairs(chosen) do
    ids[n] = args[first + item * 3 - 2]
  end
  for n, outcome in ipairs(redis.call("HMGET", base .. ":ended", unpack(ids))) do
    if --[[ guard: simple-id-taken-until-notified ]] outcome then
      codes[chosen[n]] = "1"
    end
  end
end

-- Touches every key that write_publish will write, so that a slot that is moving ends the script before it changes anything.
-- replaces: the id of a job that the first item replaces, if it is in the same queue; "" = none. counted_flag: COUNTED if the bytes count for a quota,
-- else 0. Returns codes (1 = the id is in use), the keys of the jobs from place 2 on, and the header of the job that is replaced. All items are in one
-- loop: a call for each of them would be a fiftieth of a publish.
function plan_publish(args, first, replaces, counted_flag, due, expiries)
  local prefix, by_text, taken, chosen, n = base .. "j", publish_kinds, {}, {}, 0
  local keys, extras, codes = { meta_key }, { meta_key }, {}
  for i = first, #args, 3 do
    local kind, id = by_text[args[i]] or read_options(args[i], counted_flag, due, expiries), args[i + 1]
    n = n + 1
    keys[n + 1], codes[n] = prefix .. id, "0"
    if kind.extras or kind.extended then
      extras[#extras + 1] = extras_key(id)
    end
    -- A minted id occurs once in a batch.
    if not kind.minted then
      codes[n] = taken[id] and "1" or "0"
      taken[id], chosen[#chosen + 1] = true, n
    end
  end
  redis.call("EXISTS", unpack(extras))
  if redis.call("EXISTS", unpack(keys)) > 1 then
    check_ids(args, first, codes)
  end
  if #chosen > 0 then
    check_ended(chosen, args, first, codes)
  end
  local old = replaces ~= "" and codes[1] == "0" and read_job(replaces) or nil
  local is_elsewhere = old and not is_extended(old) and old.queue ~= by_text[args[first]].number
  return codes, keys, not is_elsewhere and old or nil
end

-- codes, keys, old: of plan_publish. stored_bytes: those that count for the quota.
function write_publish(args, first, codes, keys, old, replaces, stored_bytes, due, expiries)
  if old and --[[ guard: quota-removes-for-stored ]] codes[1] == "0" then
    remove_simple(replaces, old)
  end
  removal.remove_planned()
  registry.write_new_queues()
  local by_text = publish_kinds
  for item, code in ipairs(codes) do
    local at = first + (item - 1) * 3
    local kind, id, body = by_text[args[at]], args[at + 1], args[at + 2]
    if code == "0" then
      local entry = kind.list and ready_list.add_entry(kind.list, id, 0) or nil
      if kind.due then
        schedule.schedule_job(kind.number, id, kind.due, kind.slot)
      end
      put_value(keys[item + 1], ((entry or kind.job.entry) == kind.job.entry and kind.header or with_entry_number(kind.header, entry)) .. body)
      if kind.extras then
        redis.call("HSET", extras_key(id), unpack(kind.extras))
      end
    end
  end
  schedule.write_schedule(due)
  write_values()
  ready_list.write_ready_lists("RPUSH", expiries)
  if stored_bytes > 0 then
    redis.call("HINCRBY", meta_key, "bytes", stored_bytes)
  end
  removal.return_freed_bytes()
  for _, name in ipairs(freed) do
    notify(name)
  end
end
