-- Whoever has an id already, and the job that is replaced. The options of item 1 are args[before + 3].
redis.call("EXISTS", unpack(extras))
if redis.call("EXISTS", unpack(keys)) > 1 then
  for item = 1, n do
    local id = args[item * 3 + before + 1]
    local present = read_job(id)
    if present and is_expired(present) and not is_rich(present) then
      plan_removal(id, present.state, present.queue, present.entry, present.flags)
    elseif present then
      codes[item] = "1"
    end
  end
end
local old = replaces ~= "" and codes[1] == "0" and read_job(replaces)
if old and is_rich(old) then
  return { 3, now_floor, "" }
end
if old and old.queue ~= kinds[args[before + 3]].number then
  old = nil
end
