-- As many as one script has time for; a timer handles the rest.
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

-- A new job waits for its dependencies. Returns false if it has none: then it continues.
local function wait_for(job, ids)
  local outcome = tie_all(job, ids)
  if outcome then
    fail_dependent(job, outcome)
  elseif job.x.waits then
    block(job)
  end
  return outcome or job.x.waits
end
