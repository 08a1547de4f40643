-- declare-lost: declares the leases lost iff there are some and they do not cover these keys exactly once.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           generation from then on
-- ARGV[5..]         for each range of keys: its first key, and the one after its last. No two of them touch
-- returns           1 if it did, else 0
-- guarantees        a set that is whole stays; else all leases and the plan go, epochs given later are above all earlier,
--                   sessions stay, mv rises, publishes. Work: O(leases), as read
local group, failure = open_group()
if failure then return failure end
local whole, count = judge_cover(5)
if whole or count == 0 then return 0 end
local floor = group.floor
for _, value in ipairs(redis.call('HVALS', owners)) do floor = math.max(floor, (parse_owner(value))) end
redis.call('DEL', owners, checkpoints, targets)
redis.call('HSET', meta, 'gen', ARGV[4], 'floor', text(floor))
redis.call('HDEL', meta, 'given')
rename('lt')
rename('tt')
raise_membership(group)
return 1
