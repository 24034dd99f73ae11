-- The list of all dependencies of a job, in the order of their publish: field `deps` of its hash. It stays when they have ended, so that the job can read
-- their results. Each entry: a byte with the length of the id, the id, and a letter: how that job ended, as far as this one was told.
--- @requires core/call
--- @exports LETTERS, open_list, entry_at, entries_of, place_in, with_letter

-- By the event of the end; "missing": no job had the id when the dependency was stored.
LETTERS = { acked = "a", died = "d", cancelled = "c", cascaded = "c", expired = "e", deleted = "x", replaced = "r", missing = "m", --[[ It has not ended. ]] revived = "." }

-- A list of jobs that have not ended.
function open_list(ids)
  local parts = {}
  for n, id in ipairs(ids) do
    parts[n] = string.char(#id) .. id .. LETTERS.revived
  end
  return table.concat(parts)
end

-- The entry that begins at a place: its id, its letter, and where the next entry begins.
function entry_at(list, at)
  local last = at + string.byte(list, at)
  return string.sub(list, at + 1, last), string.sub(list, last + 1, last + 1), last + 2
end

-- The ids and the letters of all entries, and the number of each id in both.
function entries_of(list)
  local ids, letters, numbers, at = {}, {}, {}, 1
  while at <= #list do
    local n = #ids + 1
    ids[n], letters[n], at = entry_at(list, at)
    numbers[ids[n]] = n
  end
  return ids, letters, numbers
end

-- Where the entry of an id begins; nil = there is none.
function place_in(list, id)
  local entry, at = string.char(#id) .. id, 1
  local found = string.find(list, entry, at, true)
  while found and at < found do
    at = at + string.byte(list, at) + 2
    if at > found then -- These bytes are parts of other entries.
      found = string.find(list, entry, at, true)
    end
  end
  return found
end

-- The list with another letter in the entry at a place.
function with_letter(list, at, letter)
  local place = at + string.byte(list, at) + 1
  return string.sub(list, 1, place - 1) .. letter .. string.sub(list, place + 1)
end
