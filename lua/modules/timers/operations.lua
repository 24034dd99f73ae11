-- Timer of operations of which no server has done the next step in time: the one that runs this timer takes them over, if it can check the rights of those
-- who started them.
--- @requires core/call, core/plan, operations/records, timers/steps
--- @exports take_over_operations

local function needs_rights(id)
  redis.call("EXISTS", meta_key, records.operation_key(id))
  return (redis.call("HGET", records.operation_key(id), "by") or "") ~= ""
end

function take_over_operations(what, checks_rights)
  for _, id in ipairs(steps.due_in(records.operating_key(), what)) do
    if --[[ guard: operation-left-to-servers ]] checks_rights or not needs_rights(id) then
      add_member(records.operating_key(), text_of(now_floor + records.CLAIM_MS), id)
      table.insert(steps.timer_results.operations, id)
    else
      steps.timer_results.left = steps.timer_results.left + 1
    end
  end
end
