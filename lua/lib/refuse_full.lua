-- Jobs of full queues that cannot be stored here; only those have settings. Code 7: the queue is drained, but for the one that takes
-- another's place. Code 8: the job may say less than it wants, for its queue has defaults, which the full lane knows.
if next(full) then
--- @include "lib/jobs_in"
--- @include "lib/draining"
  for item = 1, n do
    local kind = kinds[args[item * 3 + before]]
    if codes[item] == "0" and not (old and item == 1) and is_draining(kind.number) then
      codes[item] = "7"
    elseif codes[item] == "0" and kind.native and redis.call("HEXISTS", queue_key("o", kind.number), "defaults") == 1 then
      codes[item] = "8"
    end
  end
end
