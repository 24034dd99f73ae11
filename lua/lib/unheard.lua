-- Leases whose answers are not known to have left the server that got them: it died, or still tries. One that runs out like this is not
-- charged, for nobody may ever have seen the job. But not for ever: a job may be what kills its servers.
local MOST_SPARED = 3
local unheard

local function is_unheard(id, value)
  if not unheard then
    unheard = {}
    for _, packed in ipairs(redis.call("HVALS", sending)) do
      local batch = cmsgpack.unpack(packed)
      for i = 2, #batch, 2 do
        unheard[string.sub(batch[i], 5) .. batch[i + 1]] = true
      end
    end
  end
  return unheard[string.sub(value, 9, 12) .. id]
end

-- The header of a job that is spared: with its try, and counted.
local function spared_head(head, value, tries, spared)
  local numbers = struct.pack(">H", math.min(tries + 1, 65535)) .. string.sub(head, 7) .. string.sub(value, 18, 23)
  return string.sub(head, 1, 4) .. numbers .. string.char(spared + 1)
end
