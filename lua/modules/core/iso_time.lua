-- Times as clients get them.
--- @exports iso_time

-- Days from 0000-03-01 to 1970-01-01; of 400, 100 and 4 years.
local EPOCH, CENTURIES, CENTURY, LEAP = 719468, 146097, 36524, 1460

-- Unix ms as 2026-01-01T00:00:00.000Z, by the algorithm of H. Hinnant (civil_from_days). Years begin in March, so that leap days come last.
function iso_time(ms)
  local day = math.floor(ms / 86400000)
  local era = math.floor((day + EPOCH) / CENTURIES)
  local of_era = day + EPOCH - era * CENTURIES
  local year = math.floor((of_era - math.floor(of_era / LEAP) + math.floor(of_era / CENTURY) - math.floor(of_era / (CENTURIES - 1))) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  local of_month = of_year - math.floor((153 * month + 2) / 5) + 1
  local number = month < 10 and month + 3 or month - 9
  local seconds = math.floor(ms / 1000) % 86400
  return string.format(
    "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
    year + era * 400 + (number <= 2 and 1 or 0),
    number,
    of_month,
    math.floor(seconds / 3600),
    math.floor(seconds / 60) % 60,
    seconds % 60,
    ms % 1000
  )
end
