-- Who sends the answers of a batch may die before it has. Until it says that they have left, this is what is known of them.
local function write_record()
  if record ~= "" and batched > 1 then
    batch[1] = last_end
    redis.call("HSET", sending, record, cmsgpack.pack(batch))
  end
end
