-- discard: deletes the group's leases and plan, and forgets which feed it follows, unless this token was the last one used.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           token
-- returns           1 if it discarded, else 0
-- guarantees        hosts that start together with one token discard once; epochs given later are above all earlier
local group, failure = open_group()
if failure then return failure end
if group.token == ARGV[4] then return 0 end
local floor = group.floor
for _, value in ipairs(redis.call('HVALS', owners)) do floor = math.max(floor, (parse_owner(value))) end
redis.call('DEL', owners, checkpoints)
rename('lt')
redis.call('HSET', meta, 'floor', text(floor), 'token', ARGV[4])
redis.call('HDEL', meta, 'feed', 'given')
drop_plan(group)
return 1
