-- Notes of idempotency keys: 16 bytes of the request's fingerprint, then what was stored. Of a native call for each job its state (0 gone),
-- whether another job stands for it, the length of its id, a byte each, and the id; of another call the ids, one after the other.
local notes = {}
function notes.under(digest, fingerprint)
  local note = redis.call("GET", queue_key("k", digest))
  local is_same = note and string.sub(note, 1, 16) == fingerprint
  return note and { is_same = is_same, rest = is_same and string.sub(note, 17) or "" } or nil
end

function notes.of_job(state, stands_in, id)
  return string.char(state, stands_in and 1 or 0, #id) .. id
end
