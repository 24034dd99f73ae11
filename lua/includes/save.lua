-- Writes what has changed of a job. A command costs more than the fields in it.
local save
do
  local function write_fields(command, id, fields)
    if #fields > 0 then
      redis.call(command, extras_key(id), unpack(fields))
    end
  end

  function save(job)
    if job.is_gone then
      return
    end
    job.lease = job.lease % 4294967296
    if job.body then
      redis.call("SET", job_key(job.id), pack_job(job) .. job.body)
    else
      redis.call("SETRANGE", job_key(job.id), 0, pack_job(job))
    end
    local sets, gone = {}, {}
    for field in pairs(job.news) do
      local value = job.x[field]
      if value then
        sets[#sets + 1], sets[#sets + 2] = field, value
      else
        gone[#gone + 1] = field
      end
    end
    write_fields("HSET", job.id, sets)
    write_fields("HDEL", job.id, gone)
  end
end
