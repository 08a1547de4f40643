-- read: everything of a group at one instant.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- returns           {gen, clock, mv, av, paused 0/1, deadlines, incarnations, profiles, beats, owners, checkpoints,
--                   targets}; from the sixth on flat lists of names and values
-- guarantees        one snapshot; changes nothing but a missing group's own fields
local group, failure = open_group()
if failure then return failure end
return group_data(group)
