-- What stands for a number of jobs where the full lane must look.
local ELSEWHERE = 999999

-- How many were found, then a line for each: from which of the item's names it is, a space, its attributes. upto: for each name the number
-- of the last job from it.
local function with_notes(answer, found, upto, attributes_of)
  local lines, place = { answer }, 1
  for job = 1, found do
    while job > upto[place] do
      place = place + 1
    end
    lines[job + 1] = place .. " " .. (attributes_of[job] or "")
  end
  return table.concat(lines, "\n")
end
