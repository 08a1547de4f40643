-- replace: puts other leases in the place of some that the caller owns, all or nothing.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation   ARGV[6] number of old leases
-- then              for each old lease: id, epoch
-- then              for each new lease: id, LSN, continuation, which old lease contains it (1 is the first; 0 = none)
-- returns           'lost', or {store time of the host's last heartbeat or 0, then for each new lease: id, epoch,
--                   checkpoint, target or ''}
-- guarantees        nothing is written unless (epoch, host, incarnation) are the owner's of every old lease; each new
--                   epoch is above all of theirs, above every discarded one, and not below store time; a new lease
--                   within an old one does not begin below it, unless one lease is replaced by itself alone; repeated
--                   by the same incarnation it answers with the new leases as they are; mv rises, publishes
local host, incarnation, old_count = ARGV[4], ARGV[5], tonumber(ARGV[6])
local suffix = '|' .. incarnation .. '|' .. host
local old_ids, old_epochs = {}, {}
for i = 1, old_count do
  old_ids[i] = ARGV[5 + 2 * i]
  old_epochs[i] = ARGV[6 + 2 * i]
end
local first_new = 7 + 2 * old_count
local new_ids = {}
for at = first_new, #ARGV, 4 do new_ids[#new_ids + 1] = ARGV[at] end

local reply = { '0' }
if redis.call('HGET', incarnations, host) == incarnation then reply[1] = redis.call('HGET', beats, host) or '0' end
local function answer(id, epoch, checkpoint, target)
  reply[#reply + 1] = id
  reply[#reply + 1] = text(epoch)
  reply[#reply + 1] = checkpoint
  reply[#reply + 1] = target or ''
end

local owned = redis.call('HMGET', owners, unpack(old_ids))
local stored = stored_checkpoints(old_ids)
local mine, last_epoch, asked_epoch, last_version = true, 0, 0, 0
for i = 1, old_count do
  asked_epoch = math.max(asked_epoch, tonumber(old_epochs[i]))
  if stored[i] and owned[i] == old_epochs[i] .. suffix then
    last_epoch = math.max(last_epoch, tonumber(old_epochs[i]))
    local _, version = parse_position(stored[i])
    last_version = math.max(last_version, version)
  else
    mine = false
  end
end

if not mine then
  -- Done before, and the answer was lost: the new leases are this incarnation's.
  local new_owned = redis.call('HMGET', owners, unpack(new_ids))
  local new_stored = stored_checkpoints(new_ids)
  local new_wanted = redis.call('HMGET', targets, unpack(new_ids))
  for i, id in ipairs(new_ids) do
    local epoch, of_incarnation, of_host = parse_owner(new_owned[i])
    local same = of_host == host and of_incarnation == incarnation and epoch > asked_epoch
    if not new_stored[i] or not same then return 'lost' end
    answer(id, epoch, new_stored[i], new_wanted[i])
  end
  return reply
end

local group, failure = open_group()
if failure then return failure end
local now_us = store_time_us()
local now_ms = milliseconds(now_us)
local epoch = math.max(last_epoch + 1, group.floor + 1, now_us)
local version = math.max(last_version + 1, now_us)
local goes_back = old_count == 1 and #new_ids == 1

-- The target that all old leases have.
local wanted = redis.call('HMGET', targets, unpack(old_ids))
local target = wanted[1]
for i = 2, old_count do if wanted[i] ~= target then target = false end end

redis.call('HDEL', owners, unpack(old_ids))
redis.call('HDEL', checkpoints, unpack(old_ids))
redis.call('HDEL', targets, unpack(old_ids))
for i, id in ipairs(new_ids) do
  local at = first_new + (i - 1) * 4
  local lsn, continuation, parent = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  if parent > 0 and not goes_back then
    local stored_lsn, _, _, stored_continuation = parse_checkpoint(stored[parent])
    if stored_lsn > tonumber(lsn) then lsn, continuation = text(stored_lsn), stored_continuation end
  end
  local checkpoint = format_checkpoint(lsn, now_ms, version, continuation)
  redis.call('HSET', owners, id, text(epoch) .. suffix)
  redis.call('HSET', checkpoints, id, checkpoint)
  if target then redis.call('HSET', targets, id, target) end
  answer(id, epoch, checkpoint, target)
end
rename('lt')
rename('tt')
raise_membership(group)
return reply
