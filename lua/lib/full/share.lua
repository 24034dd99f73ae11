-- The share of an item in one queue.
local function take_from(queue, share, item, reply)
  local number = find_queue(queue.name)
  local line, before = number and line_of(number), item.found
  for _ = 1, line and math.min(share, item.count - item.found) or 0 do
    local job = bytes < max_bytes and may_start(number) and next_live(line)
    if job then
      lease_job(job, queue.name, queue.place, item, reply)
    end
  end
  if item.in_turns and item.found > before then
    took_turn(queue.name, number)
  end
end
