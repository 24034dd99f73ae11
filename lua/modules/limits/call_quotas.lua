-- Quotas of a namespace: the most queues, jobs of a queue, bytes, and keys that outlive jobs (limits/kept_keys). A text
-- "queues,jobs of a queue,bytes,keys,items of each call…", 0 = any number; "" = there are none.
--- @requires core/call, core/header, queues/registry, queues/job_counts, jobs/removal, limits/beside_bytes
--- @exports read_quotas, room_for, admit_calls

-- Returns the most queues, jobs of a queue, bytes and keys, as texts, and the sizes of the calls.
function read_quotas(quotas)
  return string.match(quotas, "^(%d+),(%d+),(%d+),(%d+),(.+)$")
end

function room_for(most, present)
  return most == "0" and math.huge or tonumber(most) - present
end

-- Refuses calls of a publish that would go beyond a quota, each as a whole: sets the codes of their items to 2 too many queues, 3 the queue is
-- full, 4 the namespace is, ":" there are too many keys. args, first, codes, old: as jobs/publish has them; kinds: by the text of options; kept_keys: how
-- many keys there are (limits/kept_keys), nil = no call has a key; has_key(item): whether the call that begins there has one. Returns how many bytes will be
-- stored, and a list of how much there was, for each call that is refused.
function admit_calls(quotas, args, first, codes, kinds, old, replaced_id, kept_keys, has_key)
  local max_queues, max_jobs, max_bytes, max_keys, calls = read_quotas(quotas)
  local stored_bytes, refused_at, before = 0, {}, first - 3
  local room, item, used = {}, 0, {}
  local queue_room = room_for(max_queues, redis.call("HLEN", queues_key))
  local bytes_room = room_for(max_bytes, (redis.call("HGET", meta_key, "bytes") or 0) - removal.freed_bytes)
  local keys_room = kept_keys and room_for(max_keys, kept_keys) or math.huge
  if old then
    room[old.queue] = max_jobs == "0" and math.huge or room_for(max_jobs, job_counts.count_jobs(old.queue, job_counts.ALL_INDEXES)) + 1
    bytes_room = bytes_room + (old.flags >= COUNTED and redis.call("STRLEN", job_key(replaced_id)) - HEADER_BYTES + beside_bytes.beside_in_sum(replaced_id, old.flags) or 0)
  end
  for size in string.gmatch(calls, "%d+") do
    local start, fresh, bytes, code = item + 1, 0, 0, "0"
    item = item + size
    for at = start, item do
      if codes[at] == "0" then
        fresh, bytes = fresh + 1, bytes + #args[at * 3 + before + 2] + (kinds[args[at * 3 + before]].beside or 0)
      end
    end
    local number = kinds[args[start * 3 + before]].number
    local is_planned = number >= registry.first_new_queue and not used[number]
    room[number] = room[number] or max_jobs == "0" and math.huge or room_for(max_jobs, job_counts.count_jobs(number, job_counts.ALL_INDEXES))
    -- A call of which some jobs are there was sent again: it had its room the first time.
    local keys = kept_keys and has_key(start) and fresh or 0
    if fresh == tonumber(size) then
      code = is_planned and queue_room < 1 and "2" or room[number] < fresh and "3" or bytes_room < bytes and "4" or --[[ guard: keys-within-quota ]] keys_room < keys and ":" or "0"
    end
    if code ~= "0" then
      local most = code == "2" and max_queues or code == "3" and max_jobs or code == "4" and max_bytes or max_keys
      local left = code == "2" and queue_room or code == "3" and room[number] or code == "4" and bytes_room or keys_room
      refused_at[#refused_at + 1] = string.format("%.0f", most - left)
      for at = start, item do
        -- guard: quota-refuses-whole-calls
        codes[at] = code
      end
    elseif fresh > 0 then
      queue_room, used[number] = queue_room - (is_planned and 1 or 0), true
      keys_room = keys_room - keys
      -- guard: quota-adds-up-a-batch
      room[number], bytes_room, stored_bytes = room[number] - fresh, bytes_room - bytes, stored_bytes + bytes
    end
  end
  registry.keep_new_queues(used)
  return stored_bytes, refused_at
end
