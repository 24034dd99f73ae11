-- Leases the share of an item from one queue.
local function take_from(queue, share, item, reply)
  local number = find_queue(queue.name)
  local list, before = number and ready_list_of(number), item.found
  for _ = 1, list and math.min(share, item.count - item.found) or 0 do
    local job = bytes < max_bytes and may_start(number) and next_live(list)
    if job then
      lease_job(job, queue.name, queue.place, item, reply)
    end
  end
  if item.in_turns and item.found > before then
    took_turn(queue.name, number)
  end
end
