-- Writes what was planned for the items of a publish.
remove_planned()
write_new_queues()
for item, code in ipairs(codes) do
  local at = item * 3 + before
  local kind, id, body = kinds[args[at]], args[at + 1], args[at + 2]
  if code == "0" then
    local entry = kind.line and enter(kind.line, id, 0) or nil
    if kind.due then
      schedule_job(kind.number, id, kind.due, kind.slot)
    end
    put_value(keys[item + 1], ((entry or 1) == 1 and kind.header or with_entry(kind.header, entry)) .. body)
    if kind.attributes ~= "" then
      redis.call("HSET", extras_key(id), "attributes", kind.attributes)
    end
  end
end
write_schedule()
write_values()
write_lines("RPUSH")
if count_flag > 0 and stored_bytes > 0 then
  redis.call("HINCRBY", meta, "bytes", stored_bytes)
end
