-- sync: moves the lease clock on, drops sessions that expired or whose process is gone, then joins, renews or leaves.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation   ARGV[6] join, beat or leave   ARGV[7] profile
-- ARGV[8] time to live of the session, lease-clock ms     ARGV[9] cap of the lease clock, ms
-- ARGV[10] '' or what the host saw of the lease clock; then ARGV[11] the store time that came with it, ARGV[12] ms that
--                   have passed since by the host's own clock
-- ARGV[13] '' or hosts whose processes are gone: JSON of a flat list of host and incarnation
-- ARGV[14] '' or the number of leases held; then ARGV[15] sum of epochs, ARGV[16] sum of LSNs, ARGV[17] modulus,
-- ARGV[18..] what the group works on, if that is known: for each range its first key, and the one after its last
-- returns           {'ok', gen, clock, mv, av, ms until the first deadline of others or '', digest matches 0/1, store time}
--                   or {'fenced', gen}
-- guarantees        the clock moves by at most the cap, and by nothing but what the host saw pass; mv rises iff sessions or
--                   profiles changed; publishes then. Work: O(hosts dropped); with a digest O(leases), so callers send it with every 10th beat
local host, incarnation, intent, profile = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local group, failure = open_group()
if failure then return failure end
local now_ms = math.floor(store_time_us() / 1000)

-- As `passTime` of the model: al and an are `newer`, ol and on `older`, as is `sinceMs`.
local cap, before, seen_clock, elapsed = tonumber(ARGV[9]), group.clock, tonumber(ARGV[10]), tonumber(ARGV[12])
local present = redis.call('HGET', incarnations, host)
local mine = present == incarnation
-- Of a heartbeat that the store has lost, its points tell nothing: sessions would end too early by what it proves.
local seen = seen_clock and mine and tonumber(redis.call('HGET', beats, host)) == tonumber(ARGV[11])
if seen then group.clock = math.max(before, seen_clock + math.min(elapsed, cap)) end
-- What some host may prove to have passed: sessions last from here.
local latest = group.clock + cap
local here, newer, older, since = { clock = group.clock, time = now_ms }, group.newer, group.older, group.since
local vouches = seen and now_ms - tonumber(ARGV[11]) >= elapsed - 2
if not group.seen then
  newer, older, since, latest = here, here, now_ms, group.clock
elseif not newer or now_ms < newer.time or not vouches then
  newer, older, since = here, { clock = latest, time = now_ms }, now_ms
else
  local newer_reached = newer.clock + now_ms - newer.time
  local older_reached = older.clock + now_ms - older.time
  latest = math.min(math.max(group.clock, newer_reached, older_reached), latest)
  if group.clock > before and now_ms - since >= cap then
    newer, older, since = here, newer, now_ms
  elseif group.clock > before and group.clock >= newer_reached then
    newer = here
  end
end
redis.call('HSET', meta, 'l', text(group.clock), 'n', text(now_ms), 'al', text(newer.clock), 'an', text(newer.time),
  'ol', text(older.clock), 'on', text(older.time), 'as', text(since))

local function drop(name)
  redis.call('ZREM', deadlines, name)
  redis.call('HDEL', incarnations, name)
  redis.call('HDEL', profiles, name)
  redis.call('HDEL', beats, name)
  redis.call('HDEL', meta, 's:' .. name)
end

-- Loads change all the time: they are for the next plan, and no reason for one.
local function without_load(value)
  return value and string.gsub(value, ',"load":"[^"]*"}$', '}', 1)
end

local expired = redis.call('ZRANGEBYSCORE', deadlines, '-inf', text(group.clock))
for _, name in ipairs(expired) do drop(name) end
local changed = #expired > 0
local gone = ARGV[13] == '' and {} or cjson.decode(ARGV[13])
for i = 1, #gone, 2 do
  if redis.call('HGET', incarnations, gone[i]) == gone[i + 1] then
    drop(gone[i])
    changed = true
  end
end
present = redis.call('HGET', incarnations, host)
mine = present == incarnation
local fenced = false
if intent == 'leave' then
  if mine then
    drop(host)
    changed = true
  elseif present then
    fenced = true
  end
elseif intent == 'beat' and not mine then
  fenced = true
else
  local stored = redis.call('HGET', profiles, host)
  if not mine or stored ~= profile then
    redis.call('HSET', incarnations, host, incarnation)
    redis.call('HSET', profiles, host, profile)
    redis.call('HSET', meta, 's:' .. host, incarnation)
    changed = changed or not mine or without_load(stored) ~= without_load(profile)
  end
  redis.call('ZADD', deadlines, text(latest + ARGV[8]), host)
  redis.call('HSET', beats, host, text(now_ms))
end
if changed then raise_membership(group) end
if fenced then return { 'fenced', group.gen } end

local next_deadline = ''
local first = redis.call('ZRANGE', deadlines, 0, 1, 'WITHSCORES')
for i = 1, #first, 2 do
  if first[i] ~= host then
    next_deadline = text(tonumber(first[i + 1]) - group.clock)
    break
  end
end

local matches = 1
if ARGV[14] ~= '' then
  local modulus = tonumber(ARGV[17])
  local count, epochs, lsns = 0, 0, 0
  local suffix = '|' .. incarnation .. '|' .. host
  local owned, held = redis.call('HGETALL', owners), {}
  for i = 1, #owned, 2 do
    local value = owned[i + 1]
    local epoch = string.sub(value, -#suffix) == suffix and tonumber(string.sub(value, 1, -#suffix - 1))
    -- Another host's name may end like this; then what is before it is no number.
    if epoch then
      held[#held + 1] = owned[i]
      epochs = (epochs + epoch % modulus) % modulus
    end
  end
  for first = 1, #held, CALL_LIMIT do
    local last = math.min(first + CALL_LIMIT - 1, #held)
    for _, value in ipairs(redis.call('HMGET', checkpoints, unpack(held, first, last))) do
      if is_checkpoint(value) then
        count = count + 1
        lsns = (lsns + parse_position(value) % modulus) % modulus
      end
    end
  end
  -- Without keys nothing is known of what the group works on.
  local whole = #ARGV < 18 or judge_cover(18)
  local same = whole and count == tonumber(ARGV[14]) and epochs == tonumber(ARGV[15]) and lsns == tonumber(ARGV[16])
  matches = same and 1 or 0
end
return { 'ok', group.gen, text(group.clock), text(group.mv), text(group.av), next_deadline, matches, text(now_ms) }
