-- A rich job's timeline: the first entry stays, of the others the newest do.
local function note(job, what, facts)
  local n = tonumber(job.x.hn or 0)
  facts.what, facts.at, facts.n = what, now_floor, n
  put(job, "h" .. (n == 0 and 0 or 1 + (n - 1) % (chosen("max_history", 100) - 1)), cjson.encode(facts))
  put(job, "hn", n + 1)
  facts.what, facts.at, facts.n = nil, nil, nil
end
