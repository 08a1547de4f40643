-- plan: replaces all targets iff nobody planned for this membership yet, or the caller rebalances. Of a paused group no lease has a target then.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4]           membership version that the plan is for
-- ARGV[5]           1 = also replaces a plan for this membership; the membership version then rises with it
-- ARGV[6]           JSON of a flat list: host and the list of its lease ids, for each host that has any
-- returns           1 if the plan was stored, else 0
-- guarantees        compare-and-set: of the hosts that plan for one membership the first wins; publishes then
local group, failure = open_group()
if failure then return failure end
local current = group.av >= group.mv
if tonumber(ARGV[4]) ~= group.mv or (current and ARGV[5] ~= '1') then return 0 end
local version = group.mv
if current then version = version + 1 end
local known = {}
for _, id in ipairs(redis.call('HKEYS', checkpoints)) do known[id] = true end
local fields, plan = {}, cjson.decode(ARGV[6])
for i = 1, #plan, 2 do
  for _, id in ipairs(plan[i + 1]) do
    if known[id] and not group.paused then
      fields[#fields + 1] = id
      fields[#fields + 1] = plan[i]
    end
  end
end
redis.call('DEL', targets)
set_fields(targets, fields)
rename('tt')
set_membership(group, version)
redis.call('HSET', meta, 'av', text(version))
publish('plan')
return 1
