-- What becomes of a new job whose unique key is held: "0" it is held by none any more; "5" the new job is refused; "6" the holder stands
-- for it. Of the jobs of one call the first one keeps it.
local unique_modes = { reject = "5", existing = "6" }
function unique_modes.replace(holder)
  if holder.is_new or holder.job and holder.job.state == LEASED then
    return "5"
  elseif holder.job then
    take_out(holder.job)
    conclude(holder.job, nil, "replaced")
  end
  return "0"
end

function unique_modes.debounce(holder, options, body)
  if not holder.job or holder.job.state == LEASED then
    return "5"
  end
  debounce(holder.job, options, body)
  return "6"
end

-- Whether a new job has its unique key: "0" it has; else a code as above, and the holder's id.
local function claim_key(options, id, body)
  local unique, key = options.unique, options.x and options.x.unique
  local holder, code = unique and holder_of(key), "0"
  if holder and holder.id ~= id then
    local way = unique_modes[unique.mode]
    local is_foreign = unique.own_queue and holder.job and holder.job.queue ~= number_of(options.queue)
    code = type(way) == "string" and way or is_foreign and "5" or way(holder, options, body)
  end
  if unique and code == "0" then
    local ends = hold_unique(key, id, unique.window_ms)
    options.x.uends = ends > 0 and text_of(ends) or nil
  end
  return code, code ~= "0" and holder.id or nil
end
