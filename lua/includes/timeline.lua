-- The timeline of an extended job: the first entry stays, and the newest of the others.
local function add_to_timeline(job, what, facts)
  local n = tonumber(job.x.hn or 0)
  facts.what, facts.at, facts.n = what, now_floor, n
  put(job, "h" .. (n == 0 and 0 or 1 + (n - 1) % (namespace_setting("max_history", 100) - 1)), cjson.encode(facts))
  put(job, "hn", n + 1)
  facts.what, facts.at, facts.n = nil, nil, nil
end
