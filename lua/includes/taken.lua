-- Whether a new job cannot have its id: while dependents of an earlier job with this id have not been handled, the id is in use.
local function is_taken(id, present, minted)
  if present then
    return present.x.users or not is_expired(present)
  end
  return not minted and redis.call("HEXISTS", touch(namespace_key("ended")), id) == 1
end
