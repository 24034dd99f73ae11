-- The statistics of a day, which is counted from 1970-01-01, UTC.
local DAY_MS = 86400000
local function day_key(day)
  return base .. ":t" .. string.format("%d", day)
end
