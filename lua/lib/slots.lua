-- Slots of time, for what is far off: how long one is, and how long before its begin its jobs are moved near, in ms.
local SLOT_MS, LEAD_MS = 262144, 60000

local function slot_key(number, slot)
  return queue_key("f", number) .. ":" .. slot
end
