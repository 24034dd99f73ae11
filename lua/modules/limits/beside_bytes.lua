-- What a job has beside its body also counts for the quota on bytes: all values of its hash, and its dependencies, beyond what each job may have. How much
-- of it is in the sum stands in the hash, in `beside`: so the job takes from the sum what it has added, whatever has changed it. Only jobs have it whose
-- body counts too.
--- @requires core/call, core/header
--- @exports BYTES_OF_EDGE, beside_bytes, beside_in_sum, entry_bytes

-- Few jobs have more: some attributes, and a timeline of few entries. Then a change of the job does not change the sum.
local FREE_BYTES = 512
-- A dependency is a member of two sets.
BYTES_OF_EDGE = 128

-- x: the fields of a job's hash. more: bytes that will be added to them.
function beside_bytes(x, more)
  local bytes = (more or 0) + BYTES_OF_EDGE * (x.edges or 0) - (x.beside and #tostring(x.beside) or 0)
  for _, value in pairs(x) do
    bytes = bytes + (type(value) == "string" and #value or #text_of(value))
  end
  return math.max(bytes - FREE_BYTES, 0)
end

-- Of a job that counts, which this script has not read.
function beside_in_sum(id, flags)
  return flags % 2 == HAS_EXTRAS and tonumber(redis.call("HGET", extras_key(id), "beside") or 0) or 0
end

-- What a new job gets besides the fields of its publish: times, and the first entry of its timeline.
function entry_bytes(queue)
  return 100 + #queue
end
