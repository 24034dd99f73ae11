-- Code 7 for jobs of queues that are drained; but for the one that takes another's place. Only full queues have settings.
for item = 1, next(full) and n or 0 do
  local number = kinds[args[item * 3 + before]].number
  if codes[item] == "0" and not (old and item == 1) and is_draining(number) then
    codes[item] = "7"
  end
end
