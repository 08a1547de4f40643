-- Stands before every script of this folder; the store joins them. All scripts take the same keys, which
-- share one {hash tag} and so live in one slot, and the same first arguments:
--
-- KEYS[1] m   HASH  schema, gen, mv, av, l (lease clock, ms), al an ol on as (see sync.lua, ms),
--                    n (store time of the last sync, ms: hosts of an older release count on it), floor, token,
--                    paused (1 = yes; 0 or absent = no), lt and tt (see `rename`), lm (mv, as these scripts left it),
--                    s:HOST (incarnation of a session of this release), made (see create.lua),
--                    feed (the one that the group follows, JSON: rid, name), given (1 = it was given leases, which were
--                    not given up since)
-- KEYS[2] hd  ZSET  host -> deadline of its session, lease-clock ms
-- KEYS[3] hi  HASH  host -> incarnation
-- KEYS[4] hx  HASH  host -> profile (JSON)
-- KEYS[5] hb  HASH  host -> store time of its last heartbeat, ms
-- KEYS[6] o   HASH  lease -> epoch|incarnation|host; both empty = free; absent = never owned
-- KEYS[7] c   HASH  lease -> lsn|changed at ms|version|continuation; a lease exists iff it is here. What stands for
--                    the continuation is opaque to the scripts: the store puts the attempts of a batch into it
-- KEYS[8] t   HASH  lease -> target host
-- KEYS[9] ns  HASH  host -> what it told of its work (JSON); no rule depends on it or on the next
-- KEYS[10] nt HASH  what became of leases, as their hosts told: see note.lua
-- ARGV[1]     store time in us; '' = the server's own (tests set it)
-- ARGV[2]     PUBLISH or SPUBLISH
-- ARGV[3]     generation to use if the group has none
--
-- Numbers are doubles, exact up to 2^53: microseconds since 1970 are below 2^51. Lua's own number to text
-- conversion keeps 14 digits only, hence `text`.
local meta, deadlines, incarnations, profiles, beats, owners, checkpoints, targets =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]

local SCHEMA = 'tidemark-leases-1'
-- Below the number of values that Lua can pass to one call.
local CALL_LIMIT = 4000

local function text(number)
  return string.format('%.0f', number)
end

local function store_time_us()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function milliseconds(time_us)
  return text(math.floor(time_us / 1000))
end

-- A hint that the user may not send any more costs others a heartbeat, not this call its second half. Opening a
-- group tells of it.
local function publish(hint)
  redis.pcall(ARGV[2], string.sub(meta, 1, -2) .. 'ch', hint)
end

-- Gives what the leases ('lt') or the targets ('tt') are from now on a name that was never given before, also not by a
-- server that went back in time or by this call when it was sent twice. Who reads them sends the names of what it knows.
local function rename(field)
  if redis.call('EXISTS', meta) == 0 then return end
  redis.call('HSET', meta, field, text(store_time_us()) .. '-' .. ARGV[3])
end

-- The group's own fields, made at first use. The second value is an error reply: the key holds something else.
local function open_group()
  local fields = redis.call('HMGET', meta, 'schema', 'gen', 'mv', 'av', 'l', 'n', 'floor', 'token', 'paused',
    'al', 'an', 'ol', 'on', 'as', 'lm')
  if not fields[1] and redis.call('EXISTS', meta) == 0 then
    redis.call('HSET', meta, 'schema', SCHEMA, 'gen', ARGV[3], 'mv', '0', 'av', '0', 'l', '0', 'floor', '0', 'lm', '0')
    fields = { SCHEMA, ARGV[3], '0', '0', '0', false, '0', [15] = '0' }
  end
  if fields[1] ~= SCHEMA then
    return nil, redis.error_reply('TIDEMARKSCHEMA ' .. meta .. ' is not a lease group of this release')
  end
  return {
    gen = fields[2],
    mv = tonumber(fields[3]),
    av = tonumber(fields[4]),
    clock = tonumber(fields[5]),
    seen = fields[6] and tonumber(fields[6]),
    floor = tonumber(fields[7]),
    token = fields[8],
    paused = fields[9] == '1',
    newer = fields[10] and { clock = tonumber(fields[10]), time = tonumber(fields[11]) },
    older = fields[12] and { clock = tonumber(fields[12]), time = tonumber(fields[13]) },
    since = fields[14] and tonumber(fields[14]),
    left = tonumber(fields[15] or '-1'),
  }
end

-- A host of an older release that raised it may have changed what it gives no names to.
local function set_membership(group, version)
  if group.left ~= group.mv then
    rename('lt')
    rename('tt')
  end
  group.mv, group.left = version, version
  redis.call('HSET', meta, 'mv', text(version), 'lm', text(version))
end

local function raise_membership(group)
  set_membership(group, group.mv + 1)
  publish('membership')
end

-- A plan for the present membership was made for another set of leases: everyone has to plan again.
local function drop_plan(group)
  redis.call('DEL', targets)
  rename('tt')
  if group.av >= group.mv then raise_membership(group) end
end

-- HSET of any number of fields: a flat list of names and values.
local function set_fields(key, list)
  for first = 1, #list, CALL_LIMIT do
    redis.call('HSET', key, unpack(list, first, math.min(first + CALL_LIMIT - 1, #list)))
  end
end

-- A map of a hash.
local function hash(key)
  local list, map = redis.call('HGETALL', key), {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end

-- epoch, incarnation, host; of a lease that nobody ever owned: 0, '', ''.
local function parse_owner(value)
  if not value then return 0, '', '' end
  local epoch, incarnation, host = string.match(value, '^(%d+)|([^|]*)|(.*)$')
  -- Somebody else wrote it: it says nothing of an owner.
  if not epoch then return 0, '', '' end
  return tonumber(epoch), incarnation, host
end

-- The first key of a lease's range and the one after its last; nothing of what is no lease's name.
local function parse_range(id)
  local first, last = string.match(id, '^([0-9A-F]*)-([0-9A-F]+)$')
  if first and #first % 2 == 0 and #last % 2 == 0 and first < last then return first, last end
end

-- Whether these scripts wrote it. A lease over which somebody wrote something else is none.
local function is_checkpoint(value)
  local lsn = value and string.match(value, '^(%d+)|%d+|%d+|')
  return lsn and tonumber(lsn) <= 9007199254740991
end

local function has_leases()
  for _, id in ipairs(redis.call('HKEYS', checkpoints)) do
    if parse_range(id) and is_checkpoint(redis.call('HGET', checkpoints, id)) then return true end
  end
  return false
end

-- Whether the leases cover keys exactly once, and how many leases there are. ARGV has, from `from` on, the first key of
-- each range and the one after its last; no two ranges touch. From lease to lease through all of them: each is met once,
-- and none is left.
local function judge_cover(from)
  local last_of, count, whole = {}, 0, true
  local stored = redis.call('HGETALL', checkpoints)
  for i = 1, #stored, 2 do
    local first, last = parse_range(stored[i])
    if first and is_checkpoint(stored[i + 1]) then
      last_of[first] = last
      count = count + 1
    end
  end
  local left = count
  for i = from, #ARGV, 2 do
    local at = ARGV[i]
    while at ~= ARGV[i + 1] and last_of[at] do
      at = last_of[at]
      left = left - 1
    end
    whole = whole and at == ARGV[i + 1]
  end
  return whole and left == 0, count
end

-- What is stored for leases; false for those that are none.
local function stored_checkpoints(ids)
  local stored = redis.call('HMGET', checkpoints, unpack(ids))
  for i, value in ipairs(stored) do stored[i] = is_checkpoint(value) and value end
  return stored
end

-- lsn, changed at, version, continuation
local function parse_checkpoint(value)
  local lsn, changed, version, continuation = string.match(value, '^(%d+)|(%d+)|(%d+)|(.*)$')
  return tonumber(lsn), tonumber(changed), tonumber(version), continuation
end

-- LSN and version alone: a continuation that is not taken out costs nothing.
local function parse_position(value)
  local lsn, version = string.match(value, '^(%d+)|%d+|(%d+)|')
  return tonumber(lsn), tonumber(version)
end

-- `now_ms` as text: it is the same for all leases of a call.
local function format_checkpoint(lsn, now_ms, version, continuation)
  return lsn .. '|' .. now_ms .. '|' .. text(version) .. '|' .. continuation
end

-- Whether every change since has a new name: hosts of an older release give none.
local function are_named(fields)
  if fields.lm ~= fields.mv then return false end
  for host, incarnation in pairs(hash(incarnations)) do
    if fields['s:' .. host] ~= incarnation then return false end
  end
  return true
end

-- Everything of the group at one instant, as `read` and `create` answer it, without what the caller has by name.
local function group_data(group, known_leases, known_count, known_targets)
  local fields = hash(meta)
  local named = are_named(fields)
  local leases_name, targets_name = named and fields.lt or '', named and fields.tt or ''
  local knows_leases = known_leases ~= '' and known_leases == leases_name
    and redis.call('HLEN', checkpoints) == tonumber(known_count)
  local knows_targets = known_targets ~= '' and known_targets == targets_name
  local function table_of(key, known)
    return known and '' or cjson.encode(redis.call('HGETALL', key))
  end
  return {
    group.gen, text(group.clock), text(group.mv), text(group.av), group.paused and '1' or '0',
    redis.call('ZRANGE', deadlines, 0, -1, 'WITHSCORES'),
    redis.call('HGETALL', incarnations),
    redis.call('HGETALL', profiles),
    redis.call('HGETALL', beats),
    leases_name, targets_name,
    table_of(owners, knows_leases),
    table_of(checkpoints, knows_leases),
    table_of(targets, knows_targets),
    fields.feed or '', fields.given or '',
  }
end
