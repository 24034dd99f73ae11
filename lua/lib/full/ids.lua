-- Ids of a list: each with its length, a byte, before it.
local function ids_in(list)
  local ids, at = {}, 1
  while at <= #list do
    local last = at + string.byte(list, at)
    ids[#ids + 1], at = string.sub(list, at + 1, last), last + 1
  end
  return ids
end
