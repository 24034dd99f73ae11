-- Of which queues leases ran out: name to how many jobs went back and how many died.
local lapses = {}

local function count_lapse(how, name)
  local lapse = lapses[name] or { returned = 0, died = 0 }
  lapses[name], lapse[how] = lapse, lapse[how] + 1
end

local function with_lapses(reply)
  for name, lapse in pairs(lapses) do
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = name or "", lapse.returned, lapse.died
  end
  return reply
end
