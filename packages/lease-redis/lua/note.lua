-- note: keeps what a host tells of its work, for people.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] its summary (JSON)   ARGV[6] how many transitions are kept   ARGV[7..] transitions (JSON)
-- returns           1
-- guarantees        reads and changes nothing but notes; drops summaries of hosts without a session
local summaries, transitions = KEYS[9], KEYS[10]
redis.call('HSET', summaries, ARGV[4], ARGV[5])
if redis.call('HLEN', summaries) > redis.call('HLEN', incarnations) then
  local sessions = hash(incarnations)
  for host in pairs(hash(summaries)) do
    if not sessions[host] then redis.call('HDEL', summaries, host) end
  end
end
if #ARGV < 7 then return 1 end
-- The oldest is written over.
local next, kept = tonumber(redis.call('HGET', transitions, 'next') or '') or 0, tonumber(ARGV[6])
local fields = {}
for i = 7, #ARGV do
  fields[#fields + 1] = text(next % kept)
  fields[#fields + 1] = text(next) .. '|' .. ARGV[i]
  next = next + 1
end
set_fields(transitions, fields)
redis.call('HSET', transitions, 'next', text(next))
return 1
