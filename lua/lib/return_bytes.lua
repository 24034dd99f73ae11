-- Where jobs have gone for good: inline, for most scripts have nothing to give back.
if freed > 0 then
  redis.call("HINCRBY", meta, "bytes", -freed)
end
