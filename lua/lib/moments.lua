-- Durations as "count,mean,squares,bin:count,…" ("" for none): squares is the sum of squared distances from the mean. Numbers keep all of
-- their bits as text: 17 digits.
local function number_text(number)
  return string.format("%.17g", number)
end

local function read_moments(text)
  local count, mean, squares, bins = string.match(text, "^([^,]+),([^,]+),([^,]+)(.*)$")
  return tonumber(count), tonumber(mean), tonumber(squares), bins
end

-- What comes has few bins most of the time, and what is there may have all: these stay text.
local function merge_bins(bins, more_bins)
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

-- By Chan's method, of which that of one value at a time is a special case.
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
