-- One item of a publish, in the loop over them: args[i] and what follows. Inline, for a call for each of them is a fiftieth of a publish.
  local kind, id = kinds[args[i]] or read_options(args[i]), args[i + 1]
  n = n + 1
  keys[n + 1], codes[n] = job_key(id), "0"
  if kind.attributes ~= "" then
    extras[#extras + 1] = extras_key(id)
  end
  -- A minted id stands in a batch once.
  if not kind.minted then
    codes[n] = taken[id] and "1" or "0"
    taken[id] = true
  end
