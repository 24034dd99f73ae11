-- To the dead letter, where nothing expires.
local function die(job, group, message, worker)
  make_rich(job, true)
  let_go(job, "died")
  job.expires, job.spared = 0, 0
  put(job, "ended", now_floor)
  go(job, DEAD, now_floor)
  tell("died", job, { group = group, message = message, worker = worker })
end
