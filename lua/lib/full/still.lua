-- Where a slot is moving to another node, a key that this script empties is one that has moved already, for the rest of the script: what
-- it has taken from one index would not get into the next. So nothing runs there until all has moved: a key that never is stops the script.
redis.call("EXISTS", meta, space_key("never"))
