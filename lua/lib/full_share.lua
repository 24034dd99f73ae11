-- The share of an item in one queue.
local function take_from(name, place, share, item, reply)
  local number = find_queue(name)
  local line = number and line_of(number)
  for _ = 1, line and math.min(share, item.count - item.found) or 0 do
    local job = bytes < max_bytes and may_start(number) and next_live(line)
    if not job then
      return
    end
    lease_job(job, name, place, item, reply)
  end
end
