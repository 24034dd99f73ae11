-- While a slot moves to another node, an index that this script empties counts as moved for the rest of the script: what was taken out of it could not be
-- written elsewhere. A key that never exists makes Redis answer TRYAGAIN before the first write until the whole slot has moved.
redis.call("EXISTS", meta, namespace_key("never"))
