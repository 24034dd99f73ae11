-- Wake-ups for servers that wait for jobs of a queue. The flag of a queue is one-shot: the script that finds it clears it and publishes one
-- message. A wake-up is a hint: servers look again within a second in any case.
--- @requires core/call, queues/wakeup_channel
--- @exports watch_waiters, ANY, flag_of, notify, notify_types, notify_ended

-- Must run before the first write: it touches the key.
local waiting_key, has_waiters
function watch_waiters(waiting)
  waiting_key, has_waiters = waiting, redis.call("EXISTS", waiting) == 1
end

-- Flags of a queue: its name, of lease requests for any type; its name, a space and a type, of those that name the type, "" = none; and with ANY in
-- place of the type, of those that name types at all.
ANY = "\n"
function flag_of(name, type)
  return name .. " " .. type
end

-- Clears the flags of these types, and those for any type. message: behind the name of the queue, which types may be ready.
local function clear_flags(name, types, message)
  local flags = { name }
  for _, type in ipairs(types) do
    flags[#flags + 1] = flag_of(name, type)
  end
  for _, flag in ipairs(redis.call("HMGET", waiting_key, unpack(flags))) do
    -- guard: ready-job-wakes-a-waiter
    if flag then
      redis.call("HDEL", waiting_key, unpack(flags))
      return wakeup_channel.publish_wakeup(name .. message)
    end
  end
end

-- A job without a type is ready.
function notify(name)
  if has_waiters and name then
    clear_flags(name, { "" }, "")
  end
end

-- types: a set of them, "" = none; ANY: jobs of any type may be ready.
function notify_types(name, types)
  if not has_waiters or not name then
    return
  elseif types[ANY] then
    return clear_flags(name, { "", ANY }, "")
  end
  for type in pairs(types) do
    clear_flags(name, { type }, " " .. type)
  end
end

-- Ends the lease requests of a worker that wait, on all servers. A server that does not know this message takes it for one of a queue without a name.
-- scope: of a session (queues/sessions): others may lease under its name from other queues, and go on waiting.
function notify_ended(worker, scope)
  local only = --[[ guard: session-ends-waits-of-its-queues ]] scope and scope ~= "" and "\n" .. scope or ""
  wakeup_channel.publish_wakeup(" " .. worker .. only)
end
