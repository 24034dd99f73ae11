-- What is known of a queue's jobs of a day: "waits;runs;failures;retries".
local function read_tally(text)
  local waits, runs, failures, retries = string.match(text, "^([^;]*);([^;]*);(%d+);(%d+)$")
  return waits or "", runs or "", tonumber(failures or 0), tonumber(retries or 0)
end

local function merge_tallies(text, more)
  local waits, runs, failures, retries = read_tally(text)
  local more_waits, more_runs, more_failures, more_retries = read_tally(more)
  return table.concat({
    merge_moments(waits, more_waits), merge_moments(runs, more_runs),
    number_text(failures + more_failures), number_text(retries + more_retries),
  }, ";")
end
