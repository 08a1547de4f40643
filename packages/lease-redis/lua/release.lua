-- release: frees leases that the caller owns, each with its last position in the same step.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation
-- ARGV[6..]         for each request: lease id, epoch, LSN or '', continuation, an epoch that the next one has to be above
--                   too or ''
-- returns           one letter a request: F freed, L lost
-- guarantees        as checkpoint; the epoch stays, or rises to the one given, so that the next one is higher; publishes if any was freed
local now_ms = milliseconds(store_time_us())
local suffix = '|' .. ARGV[5] .. '|' .. ARGV[4]
local ids = {}
for i = 6, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
local owned = redis.call('HMGET', owners, unpack(ids))
local stored = stored_checkpoints(ids)
local freed, reply, new_owners, new_checkpoints = {}, {}, {}, {}
for i, id in ipairs(ids) do
  local at = 6 + (i - 1) * 5
  if freed[id] or not stored[i] or owned[i] ~= ARGV[at + 1] .. suffix then
    reply[i] = 'L'
  else
    local lsn, _, version, continuation = parse_checkpoint(stored[i])
    local last = text(lsn)
    if ARGV[at + 2] ~= '' and tonumber(ARGV[at + 2]) >= lsn then
      last, continuation = ARGV[at + 2], ARGV[at + 3]
    end
    freed[id] = true
    new_owners[#new_owners + 1] = id
    new_owners[#new_owners + 1] = text(math.max(tonumber(ARGV[at + 1]), tonumber(ARGV[at + 4]) or 0)) .. '||'
    new_checkpoints[#new_checkpoints + 1] = id
    new_checkpoints[#new_checkpoints + 1] = format_checkpoint(last, now_ms, version + 1, continuation)
    reply[i] = 'F'
  end
end
set_fields(owners, new_owners)
set_fields(checkpoints, new_checkpoints)
if #new_owners > 0 then
  rename('lt')
  publish('released')
end
return table.concat(reply)
