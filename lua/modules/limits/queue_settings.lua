-- Settings of a queue that refuse a publish. Only extended queues have settings.
--- @requires core/call, queues/job_counts
--- @exports is_draining, let_in, refuse_by_settings

-- A queue that is drained takes no new jobs until those that are still to run have gone. Then it takes jobs again.
local draining = {}
function is_draining(number)
  if draining[number] == nil then
    local settings = queue_key("o", number)
    draining[number] = redis.call("HEXISTS", settings, "draining") == 1
    if draining[number] and redis.call("EXISTS", meta_key, settings) > 0 and job_counts.count_jobs(number, --[[ guard: blocked-jobs-keep-a-queue-draining ]] "slpSLbh") == 0 then
      draining[number] = false
      redis.call("HDEL", settings, "draining") -- The drain has ended, whatever else this script does.
    end
  end
  return draining[number]
end

-- A job comes that a drain lets in: it was respawned, moved or restored, or is of a recurring job. A drain that has ended does not begin again with it.
function let_in(number)
  is_draining(number)
end

-- Sets codes of a publish: 7 the queue is drained, and the job does not replace another one. args, first, codes, old: as jobs/publish has them; kinds:
-- by the text of options.
function refuse_by_settings(args, first, codes, kinds, old)
  for item = 1, #codes do
    local kind = kinds[args[first + (item - 1) * 3]]
    if codes[item] == "0" and not (old and item == 1) and is_draining(kind.number) then
      -- guard: draining-queue-takes-no-simple-job
      codes[item] = "7"
    end
  end
end
