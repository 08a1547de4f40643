-- open: makes the group if it is new, and says how its keys are really called (a client may prefix them).
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- returns           the name of KEYS[1]
-- guarantees        every key holds what these scripts keep there, and the user may do with them what these scripts
--                   do; or an error, TIDEMARKSCHEMA, WRONGTYPE or NOPERM, with nothing written
local kinds = { 'hash', 'zset', 'hash', 'hash', 'hash', 'hash', 'hash', 'hash' }
for i, kind in ipairs(kinds) do
  local found = redis.call('TYPE', KEYS[i])['ok']
  if found ~= 'none' and found ~= kind then
    return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' holds a ' .. found)
  end
end
-- Tried by calls that change nothing, because a script that is refused halfway has done the other half. Redis looks
-- at rights before values: those that lack one fail in another way.
local none = meta .. '-'
local calls = {
  { ARGV[2], string.sub(meta, 1, -2) .. 'ch', 'opened' },
  { 'DEL', none }, { 'EXISTS', none }, { 'HDEL', none, '-' }, { 'HGET', none, '-' }, { 'HGETALL', none },
  { 'HKEYS', none }, { 'HLEN', none }, { 'HMGET', none, '-' }, { 'HSET', none, '-', '-', 'no value' },
  { 'HVALS', none }, { 'TIME' }, { 'ZADD', none, 'no score', '-' }, { 'ZRANGE', none, '0', '0' },
  { 'ZRANGEBYSCORE', none, '0', '0' }, { 'ZREM', none, '-' },
}
for i, kind in ipairs(kinds) do
  calls[#calls + 1] = { kind == 'zset' and 'ZREM' or 'HDEL', KEYS[i], '' }
end
for _, call in ipairs(calls) do
  local reply = redis.pcall(unpack(call))
  local problem = type(reply) == 'table' and reply['err'] or ''
  if string.find(problem, "script can't") or string.find(problem, 'ACL failure') or string.find(problem, 'NOPERM') then
    return redis.error_reply('NOPERM ' .. call[1] .. ' ' .. (call[2] or '') .. ': ' .. problem)
  end
end
local _, failure = open_group()
if failure then return failure end
return meta
