--[[
Keys and arguments that several commands have. The header of a command only names them; one that means something else there is explained there.
lua/README.md describes headers.

Of a namespace. All other keys of it are built from the prefix of meta (core/call).
meta: hash            the namespace's marker; last_queue: the newest queue's number; bytes: what counts for the quota on bytes; tidied: when the last
                      round of tidying began
queues: hash          queue name -> number
due: zset             queue number -> earliest due time, Unix ms
waiting: hash         queue name -> end of a server's registration, Unix ms
expiries: zset        queue number -> earliest expiry of a ready job, Unix ms
sending: hash         record -> leases whose responses may not have left
workers: zset         name -> when it was last seen, Unix ms
targets: hash         the push targets of the namespace (targets/fields)
traces: zset          id of a tracked job that is gone -> when it went, Unix ms
requested: zset       queue name -> when a lease request last named it, Unix ms
target_changes: zset  field of targets -> number of its last change
clock_ms: text        a test's clock, Unix ms; "" = Redis's own
deadline_ms: integer  Unix ms by which the callers have given up, 0 = never
queue: text           the queue's name
id: text              of the job, or of the recurring job
replaces: text        the id of the job that the first item replaces, "" = none
fingerprint: text     16 bytes, of the request
flag_ms: integer      how long a registration lasts, ms
max_bytes: integer    take no more jobs when the reply has this many bytes
record: text          name of the delivery record of these leases, "" = none
most_bytes: integer   the quota on bytes, 0 = none
day: integer          days since 1970-01-01, UTC

Of the tokens.
limited: set          digests of the tokens that have a limit
index: zset           digests of the namespace's tokens by time of creation, Unix us
window: hash          started: Unix ms, names the window; used: requests counted in it
read_window: hash     a window: consume requests counted now
write_window: hash    a window: publish requests counted now
digest: text          hex, names the token
]]
