-- The defaults of a queue that are fields of the job's hash: here is the only list of them. The others (ttl, tries, priority) are not in the hash.
--- @requires core/call
--- @exports fill_fields

-- default: as the settings of the queue have it; field: of the hash; absent: the value that a job without the field has, too.
local FIELDS = {
  { default = "retry", field = "retry" },
  { default = "maxRunMs", field = "run" },
  { default = "retentionMs", field = "keep", absent = 0 },
}

-- Fills what the job does not set; an object is stored as JSON. Returns whether the job now has something that only an extended job can have.
function fill_fields(fields, defaults)
  local needs_hash = false
  for _, one in ipairs(FIELDS) do
    local value = defaults[one.default]
    if value and not fields[one.field] then
      fields[one.field] = type(value) == "table" and cjson.encode(value) or value
      needs_hash = needs_hash or value ~= one.absent
    end
  end
  return needs_hash
end
