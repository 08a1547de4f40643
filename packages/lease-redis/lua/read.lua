-- read: everything of a group at one instant, without what the caller has already.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] '' or the name of the leases that the caller has     ARGV[5] how many fields of `c` they are
-- ARGV[6] '' or the name of the targets that it has
-- returns           {gen, clock, mv, av, paused 0/1, deadlines, incarnations, profiles, beats, name of the leases or '',
--                   name of the targets or '', owners, checkpoints, targets, feed or '', given 1 or ''}; from the sixth on
--                   flat lists of names and values. Owners, checkpoints and targets are JSON, which is decoded much
--                   faster than that many replies; '' is what the caller has
-- guarantees        one snapshot; changes nothing but a missing group's own fields
local group, failure = open_group()
if failure then return failure end
return group_data(group, ARGV[4], ARGV[5], ARGV[6])
