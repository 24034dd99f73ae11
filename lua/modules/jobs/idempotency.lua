-- Records of idempotency keys: 16 bytes of the request's fingerprint, then what was stored. Of a call of the native API for each job its state (0
-- gone), whether another job stands for it, the length of its id, a byte each, and the id; of another call the ids, one after the other. A record has a
-- TTL of Redis's own.
--- @requires core/call, core/header, queues/registry
--- @exports read_idempotency_record, idempotency_entry, has_key, find_records, leave_out, write_idempotency_records

local function parse(record, fingerprint)
  local is_same = --[[ guard: idempotency-checks-fingerprint ]] string.sub(record, 1, 16) == fingerprint
  return { is_same = is_same, stored = is_same and string.sub(record, 17) or "" }
end

-- nil if there is none; stored is "" if the key was used for another request.
function read_idempotency_record(digest, fingerprint)
  local record = redis.call("GET", queue_key("k", digest))
  return record and parse(record, fingerprint) or nil
end

function idempotency_entry(state, stands_in, id)
  return string.char(state, stands_in and 1 or 0, #id) .. id
end

-- The calls of a batch that have a key and are to be stored. first, last: their items; form: of the record, 0 = ids, 1 = jobs.
local calls = {}

-- Whether the call has a key whose first item this is.
function has_key(item)
  for _, call in ipairs(calls) do
    if call.first == item then
      return true
    end
  end
  return false
end

-- Looks for the records of a batch. keyed: 43 bytes for each call with a key: its first item and its number of items, 2 bytes each, the digest of the
-- key, the fingerprint of the request, 16 bytes each, how long the record lasts, 6 bytes, ms, its form. Returns the codes of the items that are not
-- to be stored now: 5 the key has a record of the same request, 6 of another one, 9 an earlier call of the batch has the same key: call again;
-- their number; and what the records with code 5 say.
local BYTES = 43
function find_records(keyed)
  local codes, count, stored, seen, keys, kind = {}, 0, {}, {}, {}, queue_key("k", "")
  for at = 5, #keyed, BYTES do
    keys[#keys + 1] = kind .. string.sub(keyed, at, at + 15)
  end
  for n, text in ipairs(redis.call("MGET", unpack(keys))) do
    local first, size, digest, fingerprint, ttl_ms, form = struct.unpack(">I2I2c16c16I6B", keyed, (n - 1) * BYTES + 1)
    local code
    if text then
      local record = parse(text, fingerprint)
      code, stored[#stored + 1] = record.is_same and "5" or "6", record.is_same and record.stored or nil
    elseif --[[ guard: idempotency-once-per-batch ]] seen[digest] then
      code = "9"
    else
      calls[#calls + 1] = { first = first, last = first + size - 1, key = keys[n], fingerprint = fingerprint, ttl_ms = text_of(ttl_ms), form = form }
    end
    for item = first, code and first + size - 1 or 0 do
      codes[item], count = code, count + 1
    end
    seen[digest] = true
  end
  return codes, count, stored
end

-- Takes items out of a planned publish, and the queues that only they would have made. number_of_item: of an item's queue.
function leave_out(known, codes, number_of_item)
  local used = {}
  for item, code in ipairs(codes) do
    codes[item] = known[item] or code
    if codes[item] == "0" then
      used[number_of_item(item)] = true
    end
  end
  -- guard: idempotency-plans-no-queue
  registry.keep_new_queues(used)
end

-- Stores the records of the calls whose jobs were stored. id_and_state: of an item. kept(number, ttl_ms): counts keys, nil = they are not counted.
function write_idempotency_records(codes, id_and_state, kept)
  for _, call in ipairs(calls) do
    if codes[call.first] == "0" then
      local record = call.fingerprint
      for item = call.first, call.last do
        local id, state = id_and_state(item)
        record = record .. (--[[ guard: idempotency-both-paths ]] call.form == 0 and id or idempotency_entry(state, false, id))
      end
      -- guard: idempotency-same-step
      redis.call("SET", call.key, record, "PX", call.ttl_ms)
      if kept then
        kept(call.last - call.first + 1, tonumber(call.ttl_ms))
      end
    end
  end
end
