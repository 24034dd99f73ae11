-- What the worker gets beside the job's value.
local function facts_of(job, place, ends)
  local x = {}
  for _, field in ipairs({ "attributes", "type", "tags", "ctype", "crashes", "failures", "progress", "since", "put", "tries" }) do
    x[field] = job.x[field]
  end
  return { queue = place, ends = ends, x = x }
end
