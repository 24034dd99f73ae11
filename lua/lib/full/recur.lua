-- Recurring jobs: each slot of their schedule that has come makes one child. The script that makes it moves on to the next slot, so it is
-- one child from any number of servers. This many are made by one script: about a millisecond and a half.
local makes = 32
local function recur(id)
  local recurring = recurring_of(id)
  if not recurring then
    free("ZREM", space_key("recurring"), id)
    return
  end
  for _ = 1, math.min(skip_missed(recurring), makes) do
    local child, n = free_child(id, recurring.made)
    local options = cjson.decode(recurring.options)
    options.needs = ids_in(recurring.needs)
    if child and spawn(id, child, recurring.body, options, recurring.next) then
      recurring.made = n
    else
      recurring.skipped = recurring.skipped + 1
    end
    recurring.last, recurring.next, makes = recurring.next, recurring.next + recurring.every, makes - 1
  end
  save_recurring(id, recurring)
end

function bells.R(_, what)
  for _, id in ipairs(due_in(space_key("recurring"), what)) do
    recur(id)
  end
end
