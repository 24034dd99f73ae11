-- Lease operation ack: the work is done, or the same job continues in another queue.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/moves, extended/conversion, extended/dependencies, extended/readers, leases/claims, leases/move_on, limits/byte_room, limits/store_room
--- @requires limits/queue_room
--- @exports ack

local function replace_data(job, options, data)
  if data then
    jobs.replace_typed_body(job, data, options.ctype)
  end
end

-- The event carries a result of JSON up to this length, in bytes: a stream holds thousands of events. Its text goes as it is (src/engine/events/facts.ts).
local MAX_EVENT_RESULT = 1024
local function result_facts(options, result)
  if not options.has_result then
    return nil
  elseif --[[ guard: long-result-left-out ]] #result > MAX_EVENT_RESULT or not string.find(options.rtype or "json", "json", 1, true) then
    return { result_omitted = true }
  end
  return { json = result, rtype = options.rtype }
end

local function fact(name, ms)
  return ms and ',"' .. name .. '":' .. text_of(ms) or ""
end

-- The work is done. New data comes before the other bytes. Beyond the quota on bytes, or in a full Redis, the result is left out,
-- so that the lease ends all the same.
function ack(job, options, bytes, code)
  local data = options.data_bytes and string.sub(bytes, 1, options.data_bytes)
  local result = --[[ guard: result-stands-behind-new-data ]] data and string.sub(bytes, options.data_bytes + 1) or bytes
  local ran = job.x.leased and now_floor - tonumber(job.x.leased)
  local needs, refusal, is_unsure
  if options.next then
    needs, refusal, is_unsure = move_on.next_needs(job, result, options.next.queue)
    if --[[ guard: shared-circle-search-is-repeated ]] is_unsure then
      return 8
    end
    if not refusal and dependencies.missing_of(needs) ~= "" and --[[ guard: missing-dependency-refuses-move ]] options.next.refuse_missing then
      refusal = "missing_dependency"
    end
    -- Each dependency adds to two keys.
    if not refusal and #needs > 0 and --[[ guard: next-dependencies-store-full ]] store_room.is_store_full() then
      refusal = "store_full"
    end
    refusal = refusal or queue_room.refused_move(job, options.next.queue, options.next)
  end
  if refusal then
    return 6, 0, '{"refused":"' .. refusal .. '"}'
  end
  local came = tonumber(job.x.put) or publish_time(job.id, job)
  local facts = '{"queue":"' .. registry.name_of(job.queue) .. '"' .. fact("ran_ms", ran) .. fact("age_ms", came and math.max(now_floor - came, 0)) .. "}"
  claims.take_in_hand(job)
  -- By force the job may be acknowledged while no worker has it.
  local worker = code ~= 3 and code ~= 5 and job.x.worker or nil
  if options.next then
    conversion.make_extended(job, true)
    -- guard: ack-stores-data-moved
    replace_data(job, options, data)
    return move_on(job, options.next, needs, facts)
  end
  local keep_ms, left_out = options.keep_ms or tonumber(job.x.keep or 0), nil
  if keep_ms > 0 or job.x.users and --[[ guard: result-kept-for-dependents ]] readers.is_needed(job, true) then
    conversion.make_extended(job, true)
    claims.handler_began(job)
    -- guard: ack-stores-data-kept
    replace_data(job, options, data)
    jobs.put(job, "keep", keep_ms)
    left_out = --[[ guard: result-within-quota ]] options.has_result and not byte_room.has_room_for_field(job, "result", result, options.most_bytes) and "result" or nil
    jobs.put(job, "result", options.has_result and not left_out and result or nil)
    jobs.put(job, "rtype", not left_out and options.rtype or nil)
  end
  job.event_facts = result_facts(options, result)
  moves.conclude(job, DONE, "acked", { worker = --[[ guard: results-are-in-no-timeline ]] worker, left_out = left_out })
  return code, 0, facts
end
