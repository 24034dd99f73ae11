-- In a slot that is on its way to this node, "not there" may mean "not there yet". Two keys in one command are refused then, and the
-- script ends before it has changed anything.
local function make_sure_it_is_gone(id)
  redis.call("EXISTS", meta, job_key(id))
end

-- A job's header without its body; nil if there is no such job.
local function read_job(id)
  local value = redis.call("GETRANGE", job_key(id), 0, HEADER_BYTES - 1)
  if value == "" then
    make_sure_it_is_gone(id)
    return nil
  end
  return unpack_job(value)
end

-- Changes the header in place, and never copies the body.
local function write_job(id, job)
  redis.call("SETRANGE", job_key(id), 0, pack_job(job))
end

-- Adds a job's keys to a list of those that will be written or removed; they are touched.
local function add_keys(keys, id, flags)
  keys[#keys + 1] = job_key(id)
  if flags % 2 == HAS_EXTRAS then
    redis.call("EXISTS", meta, extras_key(id))
    keys[#keys + 1] = extras_key(id)
  end
end
