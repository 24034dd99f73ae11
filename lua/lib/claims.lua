-- Acknowledgements by who claims them: all ids in order, and runs of those that share a claim.
local ids, runs, claims, n = {}, {}, {}, 0

-- kinds: what becomes of jobs with the same header, but for when they expire: found out once (lib/verdict).
local function claim_of(lease, name)
  return { lease = tonumber(lease), number = find_queue(name) or -1, full = full[name], kinds = {} }
end

-- One run of ids, of so many bytes each.
local function add_run(text, size, packed)
  claims[text] = claims[text] or claim_of(string.match(text, "^(%d+),(.*)$"))
  local some, first = { struct.unpack(string.rep("c" .. size, #packed / size), packed) }, n + 1
  for at = 1, #some - 1 do -- the last one says where it ended
    n = n + 1
    ids[n] = some[at]
  end
  runs[#runs + 1] = { claim = claims[text], first = first, last = n }
end
