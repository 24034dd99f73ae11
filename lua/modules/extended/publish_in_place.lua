-- A publish that may take the place of the job that has its id. put: {only_new, own_queue: refuses a job of another queue as if its id were in use}.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/moves, extended/unique_claims, jobs/dependents
--- @exports keeps_place, take_place_of

-- Why the job cannot be replaced, as a code of the command extended/publish; nil = it can. A dead job stays for the dead letter. What depends on the job
-- would have to be told that it failed, and is told later: until then its id cannot be used again.
function keeps_place(job, put, number)
  if put.only_new or --[[ guard: put-keeps-other-queues ]] put.own_queue and job.queue ~= number or job.state == DEAD then
    return "1"
  elseif --[[ guard: put-leased-refused ]] job.state == LEASED then
    return "8"
  elseif --[[ guard: put-needed-refused ]] job.x.users and job.state < DONE and --[[ guard: put-replaces-without-dependents ]] dependents.has_dependents(job) or redis.call("HEXISTS", touch(namespace_key("ended")), job.id) == 1 then
    return "9"
  end
end

-- Returns whether the job was waiting: an ended one has nothing left to replace.
function take_place_of(job, queue)
  unique_claims.free_room_of(job)
  local waited = job.state < DONE
  if job.x.users and waited then -- Those that depended on it have gone: no job waits to be told of its end.
    jobs.put(job, "users", nil)
    delete_key(users_key(job.id))
    delete_key(named_key("v", job.id))
    delete_key(named_key("r", job.id))
  end
  moves.leave(job)
  if waited then
    unique_claims.conclude_replaced(job, queue)
  else
    moves.vanish_kept(job)
  end
  return waited
end
