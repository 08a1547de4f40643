-- pause: pauses the group, or resumes it.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           1 = pause, 0 = resume
-- returns           1, or 0 if it was so already and nothing has changed
-- guarantees        mv rises, so that everyone plans again: without targets while the group is paused; publishes
local group, failure = open_group()
if failure then return failure end
local wanted = ARGV[4] == '1'
if group.paused == wanted then return 0 end
redis.call('HSET', meta, 'paused', ARGV[4])
raise_membership(group)
return 1
