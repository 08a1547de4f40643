-- create: stores a whole set of leases iff the group has none.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           JSON of a flat list: for each lease id, LSN, continuation, epoch of its last owner or 0
-- returns           {changed at, version, then as `read`}: everything of the group afterwards. If that are these very
--                   leases, as they were made, their owners and checkpoints are '' and the first two say when; else the
--                   first two are ''
-- guarantees        all of the set or nothing of it; losers get the winner's
local group, failure = open_group()
if failure then return failure end
local digest = redis.sha1hex(ARGV[4])
if ARGV[4] ~= '[]' and not has_leases() then
  local leases = cjson.decode(ARGV[4])
  local now_us = store_time_us()
  local now_ms = milliseconds(now_us)
  local fields, last_owners = {}, {}
  for i = 1, #leases, 4 do
    fields[#fields + 1] = leases[i]
    -- The version is above that of every discarded lease of this id.
    fields[#fields + 1] = format_checkpoint(leases[i + 1], now_ms, now_us, leases[i + 2])
    if leases[i + 3] ~= '0' then
      last_owners[#last_owners + 1] = leases[i]
      last_owners[#last_owners + 1] = leases[i + 3] .. '||'
    end
  end
  redis.call('DEL', owners, checkpoints)
  set_fields(owners, last_owners)
  set_fields(checkpoints, fields)
  rename('lt')
  drop_plan(group)
  local name = redis.call('HGET', meta, 'lt')
  redis.call('HSET', meta, 'given', '1', 'made', table.concat({ digest, now_ms, text(now_us), #fields / 2, name }, '|'))
end
local made = redis.call('HGET', meta, 'made') or ''
local of, changed, version, count, name = string.match(made, '^(%x+)|(%d+)|(%d+)|(%d+)|(.*)$')
local reply = group_data(group, of == digest and name or '', count, '')
local same = reply[12] == ''
table.insert(reply, 1, same and version or '')
table.insert(reply, 1, same and changed or '')
return reply
