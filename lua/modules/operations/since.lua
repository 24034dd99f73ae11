-- What became of a job since an operation began. A job with a history tells all; of one without, only the times of its publish and of its death are known.
--- @requires core/call, core/header, extended/jobs, extended/timeline
--- @exports was_there, has_changed, is_own_work

-- Ids have the time of a server, which estimates that of Redis: a job may seem to come from a little later than it did.
local CLOCK_SLACK_MS = 100

-- Whether the job was published before `created`, Unix ms.
function was_there(job, created)
  local at = tonumber(job.x.put) or (publish_time(job.id, job) or 0) - CLOCK_SLACK_MS
  return --[[ guard: operation-leaves-later-jobs ]] at <= created
end

-- died: its time of death if it is dead, Unix ms, or nil.
function has_changed(job, created, died)
  local last = timeline.last_change(job)
  local at = last and tonumber(string.match(last, '"at":(%d+)')) or died or 0
  return --[[ guard: operation-leaves-changed-jobs ]] at > created
end

-- Whether the operation itself was the last to change the job: the walk may meet it again at its new place.
function is_own_work(job, operation)
  local last = timeline.last_change(job)
  return last ~= nil and string.find(last, '"operation":"' .. operation .. '"', 1, true) ~= nil
end
