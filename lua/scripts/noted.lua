--[[
What was stored under an idempotency key: its note (lib/noted). Needs no marker of the namespace: it may be forgotten when all is done, and the
note is good all the same. The note's key is built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; looked at for its name only
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] digest       16 bytes: names the note
ARGV[4] fingerprint  16 bytes, of the request

Returns {status, now_ms, found, noted}. Status: 0 done, 1 too late. Found: 0 no note, 1 that of this request: see noted, 2 that of another one.
Cost: O(1).
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local digest, fingerprint = ARGV[3], ARGV[4]

--- @include "lib/now"
--- @include "lib/keys"
--- @include "lib/noted"

local noted = notes.under(digest, fingerprint)
if not noted then
  return { 0, now_floor, 0, "" }
end
return { 0, now_floor, noted.is_same and 1 or 2, noted.rest }
