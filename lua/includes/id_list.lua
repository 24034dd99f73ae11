-- A list of ids: each after a byte with its length.
local function ids_in(list)
  local ids, at = {}, 1
  while at <= #list do
    local last = at + string.byte(list, at)
    ids[#ids + 1], at = string.sub(list, at + 1, last), last + 1
  end
  return ids
end
