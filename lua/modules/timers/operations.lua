-- Timer of operations of which no server has done the next step in time: the one that runs this timer takes them over.
--- @requires core/call, core/plan, operations/records, timers/steps
--- @exports take_over_operations

function take_over_operations(_, what)
  for _, id in ipairs(steps.due_in(records.operating_key(), what)) do
    add_member(records.operating_key(), text_of(now_floor + records.CLAIM_MS), id)
    table.insert(steps.timer_results.operations, id)
  end
end
