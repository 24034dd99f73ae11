-- Calls of the native API over several queues, or with ids that the caller chose: all of their jobs are stored, or none. If the simple publish command
-- cannot store one of them, it stores none, and leaves the whole call to the extended path (code 8), which answers why.
--- @requires core/call, queues/registry, jobs/publish
--- @exports refuse_parts

-- args, first, codes, sizes: as jobs/queue_defaults has them. has_quotas: a call over several queues is left to the extended path, for limits/call_quotas
-- admits a call by its first queue.
function refuse_parts(args, first, codes, sizes, has_quotas)
  local item, size, refused, used = 1, string.gmatch(sizes, "%d+"), {}, {}
  while item <= #codes do
    local last, kind = item + (size() or 1) - 1, publish.publish_kinds[args[first + item * 3 - 3]]
    local is_refused = false
    for at = item, last do
      local number = publish.publish_kinds[args[first + at * 3 - 3]].number
      is_refused = is_refused or kind.whole and (--[[ guard: call-over-queues-is-whole ]] codes[at] ~= "0" or --[[ guard: quota-counts-each-queue ]] has_quotas and number ~= kind.number)
    end
    for at = item, last do
      local id = args[first + at * 3 - 2]
      if is_refused and string.find("01278", codes[at], 1, true) then
        codes[at], refused[id] = "8", true
      elseif --[[ guard: refused-id-is-free-for-the-next ]] codes[at] == "1" and refused[id] and publish.publish_kinds[args[first + at * 3 - 3]].native then
        codes[at] = "8" -- Perhaps only a call of this batch has the id, and it is not stored.
      elseif codes[at] == "0" then
        used[publish.publish_kinds[args[first + at * 3 - 3]].number] = true
      end
    end
    item = last + 1
  end
  registry.keep_new_queues(used)
end
