-- Durations as "count,mean,squares,bin:count,…" ("" for none): squares is the sum of squared distances from the mean. Numbers keep all of
-- their bits as text: 17 digits.
local function number_text(number)
  return string.format("%.17g", number)
end

local function read_moments(text)
  local moments = { count = 0, mean = 0, squares = 0, bins = {} }
  local count, mean, squares, bins = string.match(text, "^([^,]+),([^,]+),([^,]+)(.*)$")
  if count then
    moments.count, moments.mean, moments.squares = tonumber(count), tonumber(mean), tonumber(squares)
    for bin, many in string.gmatch(bins, "(%d+):(%d+)") do
      moments.bins[#moments.bins + 1] = { tonumber(bin), tonumber(many) }
    end
  end
  return moments
end

-- By Chan's method, of which that of one value at a time is a special case.
local function merge_moments(text, more_text)
  local ours, more = read_moments(text), read_moments(more_text)
  if ours.count == 0 or more.count == 0 then
    return ours.count == 0 and more_text or text
  end
  local count, distance = ours.count + more.count, more.mean - ours.mean
  local mean = ours.mean + distance * more.count / count
  local squares = ours.squares + more.squares + distance * distance * ours.count * more.count / count
  local many_in = {}
  for _, bin in ipairs(ours.bins) do
    many_in[bin[1]] = bin[2]
  end
  for _, bin in ipairs(more.bins) do
    many_in[bin[1]] = (many_in[bin[1]] or 0) + bin[2]
  end
  local parts = { number_text(count), number_text(mean), number_text(squares) }
  for bin, many in pairs(many_in) do
    parts[#parts + 1] = bin .. ":" .. number_text(many)
  end
  return table.concat(parts, ",")
end
