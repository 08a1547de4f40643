-- open: makes the group if it is new, and says how its keys are really called (a client may prefix them).
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- returns           the name of KEYS[1]
-- guarantees        every key holds what these scripts keep there, or an error: TIDEMARKSCHEMA, WRONGTYPE
local kinds = { 'hash', 'zset', 'hash', 'hash', 'hash', 'hash', 'hash', 'hash' }
for i, kind in ipairs(kinds) do
  local found = redis.call('TYPE', KEYS[i])['ok']
  if found ~= 'none' and found ~= kind then
    return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' holds a ' .. found)
  end
end
local _, failure = open_group()
if failure then return failure end
return meta
