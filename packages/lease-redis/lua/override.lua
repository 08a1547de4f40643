-- override: puts other leases in the place of some, whoever owns them, all or nothing. An operator's word.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           number of old leases
-- then              for each old lease: id, epoch
-- then              for each new lease: id, LSN, continuation
-- returns           'changed', or for each new lease: id, epoch, checkpoint
-- guarantees        nothing is written unless every old lease is there at its epoch; nobody owns the new ones and no
--                   plan names them; each new epoch is above all of the old ones', above every discarded one, and not
--                   below store time; each begins exactly where it is told; mv rises, publishes
local old_count = tonumber(ARGV[4])
local old_ids, old_epochs = {}, {}
for i = 1, old_count do
  old_ids[i] = ARGV[3 + 2 * i]
  old_epochs[i] = tonumber(ARGV[4 + 2 * i])
end

local owned = redis.call('HMGET', owners, unpack(old_ids))
local stored = stored_checkpoints(old_ids)
local last_epoch, last_version = 0, 0
for i = 1, old_count do
  local epoch = parse_owner(owned[i])
  if not stored[i] or epoch ~= old_epochs[i] then return 'changed' end
  local _, version = parse_position(stored[i])
  last_epoch = math.max(last_epoch, epoch)
  last_version = math.max(last_version, version)
end

local group, failure = open_group()
if failure then return failure end
local now_us = store_time_us()
local now_ms = milliseconds(now_us)
local epoch = math.max(last_epoch + 1, group.floor + 1, now_us)
local version = math.max(last_version + 1, now_us)

redis.call('HDEL', owners, unpack(old_ids))
redis.call('HDEL', checkpoints, unpack(old_ids))
redis.call('HDEL', targets, unpack(old_ids))
local reply = {}
for at = 5 + 2 * old_count, #ARGV, 3 do
  local id = ARGV[at]
  local checkpoint = format_checkpoint(ARGV[at + 1], now_ms, version, ARGV[at + 2])
  redis.call('HSET', owners, id, text(epoch) .. '||')
  redis.call('HSET', checkpoints, id, checkpoint)
  reply[#reply + 1] = id
  reply[#reply + 1] = text(epoch)
  reply[#reply + 1] = checkpoint
end
rename('lt')
rename('tt')
raise_membership(group)
return reply
