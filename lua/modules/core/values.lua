-- Values of many jobs (header and body), read and written with few commands: a command costs more than what it does.
--- @requires core/header
--- @exports headers_only, read_values, put_value, put_head, write_values

-- Bodies up to this many bytes are read with the headers.
local LONG = 1024
-- The ids whose value is the header alone.
headers_only = {}

-- Returns the length of the longest value.
local function read_some(values, keys, first, last)
  local found, longest = --[[ guard: ack-reads-jobs-together ]] redis.call("MGET", meta_key, unpack(keys, first, last)), 0
  for i = first, last do
    local value = found[i - first + 2]
    values[i] = value
    if value and #value > longest then
      longest = #value
    end
  end
  return longest
end

-- Per id its value, false if there is no such job; and per id its key. Short values are read whole and together; where one is long, the others
-- are read one by one without their bodies. In a slot that is moving, a job that has not arrived ends the script.
function read_values(ids)
  local values, keys, longest, size, first, prefix = {}, {}, 0, 8, 1, base .. "j"
  for i, id in ipairs(ids) do
    keys[i] = prefix .. id
  end
  while first <= #ids and longest <= LONG do
    local last = math.min(first + size - 1, #ids)
    -- At most twice as many as were short so far.
    longest = read_some(values, keys, first, last)
    first, size = last + 1, longest > 0 and --[[ guard: ack-reads-grow-by-two ]] size * 2 or size
  end
  for i = first, #ids do
    local header = redis.call("GETRANGE", keys[i], "0", LAST_BYTE)
    values[i] = header ~= "" and header or assert_slot_stable(ids[i]) or false
    -- guard: long-body-not-overwritten
    headers_only[ids[i]] = true
  end
  return values, keys
end

-- New and short values are written with one MSET. But Redis's Lua pays by the byte for each text that it makes: from some forty bytes of body
-- on, a SETRANGE of its own for a job's new head costs less.
local SHORT = 64
local whole, filled, heads, headed = {}, 0, {}, 0

function put_value(key, value)
  whole[filled + 1], whole[filled + 2] = key, value
  filled = filled + 2
end

-- Replaces the first bytes of a value that was read. is_whole: the value has its body.
function put_head(key, value, head, is_whole)
  if is_whole and #value <= SHORT then
    put_value(key, head .. string.sub(value, #head + 1))
  else
    heads[headed + 1], heads[headed + 2], headed = key, head, headed + 2
  end
end

function write_values()
  local call = redis.call
  if filled > 0 then
    call("MSET", unpack(whole))
  end
  for i = 1, headed, 2 do
    call("SETRANGE", heads[i], "0", heads[i + 1])
  end
end
