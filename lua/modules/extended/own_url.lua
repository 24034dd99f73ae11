-- A job may name the URL that it is pushed to. Its data and its queue decide what goes there, and with the credentials of which target: a caller without the
-- permission push must not change them. All commands that can ask here.
--- @requires core/call
--- @exports own_url_of, lacks_push

function own_url_of(job)
  local attributes = job.x.attributes
  return attributes and string.find(attributes, "push/url", 1, true) and cjson.decode(attributes)["push/url"]
end

-- Whether a caller may not change the data and the queue of a job. options.no_push: it lacks the permission.
function lacks_push(job, options)
  return options.no_push and own_url_of(job)
end
