-- claim-feed: notes which feed the group follows, iff nobody has yet, or the one that is noted is to be replaced.
-- Of a group with leases also that it was given some.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           the feed (JSON, see prelude.lua)
-- ARGV[5]           _rid of the feed that may be replaced; '' = none
-- returns           the feed that is noted afterwards (JSON)
-- guarantees        of two that come with different feeds the first is noted, and the other is told which. Where one is
--                   replaced, mv rises, publishes
local group, failure = open_group()
if failure then return failure end
-- An older release did not note that it gave them.
if has_leases() then redis.call('HSET', meta, 'given', '1') end
local noted = redis.call('HGET', meta, 'feed')
if noted and cjson.decode(noted).rid ~= ARGV[5] then return noted end
redis.call('HSET', meta, 'feed', ARGV[4])
if noted then raise_membership(group) end
return ARGV[4]
