-- read-notes: what the hosts told of their work.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           summaries or transitions
-- returns           a flat list of names and values; a transition's value begins with its number in the order of all,
--                   and a bar
return redis.call('HGETALL', ARGV[4] == 'summaries' and KEYS[9] or KEYS[10])
