-- create: stores a whole set of leases iff the group has none.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4..]         for each lease: id, LSN, continuation, epoch of its last owner or 0
-- returns           everything of the group afterwards, as `read`
-- guarantees        all of the set or nothing of it; losers get the winner's
local group, failure = open_group()
if failure then return failure end
local has_leases = false
for id, value in pairs(hash(checkpoints)) do has_leases = has_leases or (parse_range(id) and is_checkpoint(value)) end
if #ARGV > 3 and not has_leases then
  local now_us = store_time_us()
  local now_ms = milliseconds(now_us)
  local fields, last_owners = {}, {}
  for i = 4, #ARGV, 4 do
    fields[#fields + 1] = ARGV[i]
    -- The version is above that of every discarded lease of this id.
    fields[#fields + 1] = format_checkpoint(ARGV[i + 1], now_ms, now_us, ARGV[i + 2])
    if ARGV[i + 3] ~= '0' then
      last_owners[#last_owners + 1] = ARGV[i]
      last_owners[#last_owners + 1] = ARGV[i + 3] .. '||'
    end
  end
  redis.call('DEL', owners, checkpoints)
  set_fields(owners, last_owners)
  set_fields(checkpoints, fields)
  drop_plan(group)
end
return group_data(group)
