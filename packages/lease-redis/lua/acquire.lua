-- acquire: takes leases that are free, or whose owner's session is gone, or that an earlier life of this host
-- owned, if the plan gives them to this host. Those that this incarnation owns are answered as they are.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation   ARGV[6..] lease ids, each once
-- returns           {store time of the host's last heartbeat, then for each lease held now: id, epoch, checkpoint,
--                   target or ''}; {} when the caller has no session
-- guarantees        each new epoch is above the lease's last, above every discarded one, and not below store time
local host, incarnation = ARGV[4], ARGV[5]
if redis.call('HGET', incarnations, host) ~= incarnation or #ARGV < 6 then return {} end
local ids = { unpack(ARGV, 6) }
local owned = redis.call('HMGET', owners, unpack(ids))
local stored = stored_checkpoints(ids)
local wanted = redis.call('HMGET', targets, unpack(ids))
local sessions = hash(incarnations)
local floor = tonumber(redis.call('HGET', meta, 'floor') or '0')
local now_us = store_time_us()
local now_ms = milliseconds(now_us)
local new_owners, new_checkpoints = {}, {}
local reply = { redis.call('HGET', beats, host) or '0' }

for i, id in ipairs(ids) do
  local checkpoint = stored[i]
  local epoch, of_incarnation, of_host = parse_owner(owned[i])
  local mine = of_host == host and of_incarnation == incarnation
  local free = of_host == '' or of_host == host or sessions[of_host] ~= of_incarnation
  if checkpoint and not mine and free and wanted[i] == host then
    epoch = math.max(epoch + 1, floor + 1, now_us)
    local lsn, _, version, continuation = parse_checkpoint(checkpoint)
    checkpoint = format_checkpoint(text(lsn), now_ms, version + 1, continuation)
    new_owners[#new_owners + 1] = id
    new_owners[#new_owners + 1] = text(epoch) .. '|' .. incarnation .. '|' .. host
    new_checkpoints[#new_checkpoints + 1] = id
    new_checkpoints[#new_checkpoints + 1] = checkpoint
    mine = true
  end
  if checkpoint and mine then
    reply[#reply + 1] = id
    reply[#reply + 1] = text(epoch)
    reply[#reply + 1] = checkpoint
    reply[#reply + 1] = wanted[i] or ''
  end
end
set_fields(owners, new_owners)
set_fields(checkpoints, new_checkpoints)
if #new_owners > 0 then rename('lt') end
return reply
