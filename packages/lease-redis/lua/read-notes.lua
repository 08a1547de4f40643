-- read-notes: what the hosts told of their work.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- returns           {summaries, transitions}: flat lists of names and values; a transition's value begins with its
--                   number in the order of all, and a bar
return { redis.call('HGETALL', KEYS[9]), redis.call('HGETALL', KEYS[10]) }
