-- checkpoint: stores positions of leases that the caller owns.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation
-- ARGV[6..]         for each request: lease id, epoch, LSN, continuation
-- returns           one letter a request: S stored, L lost, R regress
-- guarantees        nothing is written unless (epoch, host, incarnation) are the owner's; an LSN never goes down.
--                   Looks neither at the session nor at the clock: authority is the epoch
local now_ms = milliseconds(store_time_us())
local suffix = '|' .. ARGV[5] .. '|' .. ARGV[4]
local ids = {}
for i = 6, #ARGV, 4 do ids[#ids + 1] = ARGV[i] end
local owned = redis.call('HMGET', owners, unpack(ids))
local stored = stored_checkpoints(ids)
-- A lease may be named twice: the later request sees what the earlier one wrote.
local written = {}
local reply = {}
for i, id in ipairs(ids) do
  local at = 6 + (i - 1) * 4
  local value = written[id] or stored[i]
  if not value or owned[i] ~= ARGV[at + 1] .. suffix then
    reply[i] = 'L'
  else
    local lsn, version = parse_position(value)
    if tonumber(ARGV[at + 2]) < lsn then
      reply[i] = 'R'
    else
      written[id] = format_checkpoint(ARGV[at + 2], now_ms, version + 1, ARGV[at + 3])
      reply[i] = 'S'
    end
  end
end
local fields = {}
for id, value in pairs(written) do
  fields[#fields + 1] = id
  fields[#fields + 1] = value
end
set_fields(checkpoints, fields)
if #fields > 0 then rename('lt') end
return table.concat(reply)
