-- What stands for a number of jobs where the full lane must look.
local ELSEWHERE = 999999

-- How many were found, then a line for each: from which of the item's names it is, a space, its attributes.
local function with_notes(found, places, attributes_of)
  for job, attributes in ipairs(attributes_of) do
    places[job] = "\n" .. places[job] .. " " .. attributes
  end
  return found .. table.concat(places)
end
