-- Recurring jobs: each slot of the schedule that has come makes one job. The script that makes it moves to the next slot, so any number of servers make
-- one job. One script makes at most this many: about a millisecond and a half.
local makes = 32
local function recur(id)
  local recurring = recurring_of(id)
  if not recurring then
    free("ZREM", namespace_key("recurring"), id)
    return
  end
  local options, skipped = cjson.decode(recurring.options), recurring.skipped
  local template = { id = "", x = options.x or {} }
  for _ = 1, math.min(skip_missed(recurring), makes) do
    local child, n = free_child(id, recurring.made)
    options = cjson.decode(recurring.options)
    options.needs = ids_in(recurring.needs)
    if child and spawn(id, child, recurring.body, options, recurring.next) then
      recurring.made = n
    else
      recurring.skipped = recurring.skipped + 1
    end
    recurring.last, recurring.next, makes = recurring.next, recurring.next + recurring.every, makes - 1
  end
  if recurring.skipped > skipped then
    emit_event("recurring_skipped", template, { queue = options.queue, recurring = id, skipped = recurring.skipped - skipped })
  end
  save_recurring(id, recurring)
end

function timer_handlers.R(_, what)
  for _, id in ipairs(due_in(namespace_key("recurring"), what)) do
    recur(id)
  end
end
