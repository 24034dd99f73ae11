-- Statistics of a day: a hash of queue -> "waits;runs;failures;retries". Waits and runs are distributions of durations (see merge_moments).
--- @requires core/call
--- @exports DAY_MS, MAX_DAYS, day_key, merge_bins, merge_tallies

-- Days count from 1970-01-01, UTC. At most so many are kept.
DAY_MS = 86400000
MAX_DAYS = 366
function day_key(day)
  return base .. ":t" .. string.format("%d", day)
end

-- Numbers keep all of their bits as text: 17 digits.
local function number_text(number)
  return string.format("%.17g", number)
end

local function read_moments(text)
  local count, mean, squares, bins = string.match(text, "^([^,]+),([^,]+),([^,]+)(.*)$")
  return tonumber(count), tonumber(mean), tonumber(squares), bins
end

-- The new text has few bins most of the time and the known one may have all: the bins stay text.
function merge_bins(bins, more_bins)
  for bin, many in string.gmatch(more_bins, ",(%d+):(%d+)") do
    local first, last, known = string.find(bins, "," .. bin .. ":(%d+)")
    if first then
      bins = string.sub(bins, 1, last - #known) .. number_text(known + many) .. string.sub(bins, last + 1)
    else
      bins = bins .. "," .. bin .. ":" .. many
    end
  end
  return bins
end

-- Durations are "count,mean,squares,bin:count,…", "" for none; squares is the sum of squared distances from the mean. Merged by Chan's method,
-- of which that of one value at a time is a special case.
local function merge_moments(text, more_text)
  if text == "" or more_text == "" then
    return text == "" and more_text or text
  end
  local count, mean, squares, bins = read_moments(text)
  local more_count, more_mean, more_squares, more_bins = read_moments(more_text)
  local sum, distance = count + more_count, more_mean - mean
  mean = mean + distance * more_count / sum
  squares = squares + more_squares + distance * distance * count * more_count / sum
  return table.concat({ number_text(sum), number_text(mean), number_text(squares) }, ",") .. merge_bins(bins, more_bins)
end

local function read_tally(text)
  local waits, runs, failures, retries = string.match(text, "^([^;]*);([^;]*);(%d+);(%d+)$")
  return waits or "", runs or "", tonumber(failures or 0), tonumber(retries or 0)
end

function merge_tallies(text, more)
  local waits, runs, failures, retries = read_tally(text)
  local more_waits, more_runs, more_failures, more_retries = read_tally(more)
  return table.concat({
    merge_moments(waits, more_waits), merge_moments(runs, more_runs),
    number_text(failures + more_failures), number_text(retries + more_retries),
  }, ";")
end
