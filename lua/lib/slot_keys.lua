-- The keys of a job's concurrency key, added to a list.
local function add_slot_keys(keys, id, number)
  local ckey = redis.call("HGET", extras_key(id), "ckey")
  for kind in string.gmatch(ckey and "cwT" or "", ".") do
    keys[#keys + 1] = space_key(kind .. number .. ":" .. redis.sha1hex(ckey))
  end
end
