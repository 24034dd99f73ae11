-- The next live job of a line: id, job, value; nil at the end of the line; nil, true when this script has looked at enough.
local function next_live(line, wanted)
  while true do
    if line.at > #line.window then
      -- As many as are wanted. If that was not enough, there may be a long way to go.
      read_window(line, line.taken < wanted and wanted - line.taken or 100)
      if #line.window == 0 then
        return nil
      end
    end
    if looked >= LOOK_LIMIT then
      return nil, true
    end
    local entry, value = line.window[line.at], line.values[line.at + 1]
    line.at, line.taken, looked = line.at + 1, line.taken + 1, looked + 1
    local id, job = sort_out(line, entry, value)
    if id then
      return id, job, value
    end
  end
end
