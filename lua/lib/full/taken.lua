-- Whether a new job cannot have its id: as long as some wait to be told of the end of the job that had it, that one has it.
local function is_taken(id, present, minted)
  if present then
    return present.x.users or not is_expired(present)
  end
  return not minted and redis.call("HEXISTS", touch(space_key("ended")), id) == 1
end
