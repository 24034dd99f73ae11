--[[
Find out which commands the user of the connection may not run. Nothing is run. A Redis before 7 cannot tell: there it may run all.

ITEM command

Command: its words with spaces between them, such as "SUBSCRIBE channel". Returns the refused ones. Commands that Redis does not have are none.
Cost: O(N).
]]

--- @script

local refused = {}
for i = FIRST_ITEM, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[i], "%S+") do
    words[#words + 1] = word
  end
  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(words))
  if is_known and not is_allowed then
    refused[#refused + 1] = ARGV[i]
  end
end
return refused
