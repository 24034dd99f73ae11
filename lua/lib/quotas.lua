-- Quotas: the most queues, jobs of a queue and bytes of bodies, 0 = any number; then how many items each call of the batch has.
local most_queues, most_jobs, most_bytes, calls, room_for
local EVERYWHERE = "sldpSLbh"
local first_new, stored_bytes, count_flag = last_queue + 1, 0, 0
if quotas ~= "" then
  most_queues, most_jobs, most_bytes, calls = string.match(quotas, "^(%d+),(%d+),(%d+),(.+)$")
  -- Jobs count for the bytes while this quota is set: their own flag says whether they do, so that whoever removes them knows.
  count_flag = most_bytes ~= "0" and COUNTED or 0

  room_for = function(most, there)
    return most == "0" and math.huge or tonumber(most) - there
  end
end
