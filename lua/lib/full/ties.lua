-- As many as one script has the time for; more are left to the clock.
local ties_left = 40
local function tie_all(job, ids)
  waiter(job)
  if #ids > ties_left then
    put(job, "waits", TYING)
    for first = 1, #ids, 500 do
      edge(job, "SADD", named_key("m", job.id), unpack(ids, first, math.min(first + 499, #ids)))
    end
    set_timer("N" .. job.id, now_floor)
    return
  end
  ties_left = ties_left - #ids
  for _, id in ipairs(ids) do
    local outcome = tie(job, id)
    if outcome then
      return outcome
    end
  end
end

-- A job that stands nowhere waits for what is to be waited for. False if there is nothing: then it goes on.
local function wait_for(job, ids)
  local outcome = tie_all(job, ids)
  if outcome then
    fall(job, outcome)
  elseif job.x.waits then
    block(job)
  end
  return outcome or job.x.waits
end
