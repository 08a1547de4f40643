-- sync: advances the lease clock, drops expired sessions, then joins, renews or leaves.
--
-- KEYS, ARGV[1..3]  see prelude.lua
-- ARGV[4] host      ARGV[5] incarnation   ARGV[6] join, beat or leave   ARGV[7] profile
-- ARGV[8] time to live of the session, lease-clock ms     ARGV[9] cap of the lease clock, ms
-- ARGV[10] '' or the number of leases held; then ARGV[11] sum of epochs, ARGV[12] sum of LSNs, ARGV[13] modulus,
-- ARGV[14..] what the group works on, if that is known: for each range its first key, and the one after its last
-- returns           {'ok', gen, clock, mv, av, ms until the first deadline of others or '', digest matches 0/1}
--                   or {'fenced', gen}
-- guarantees        the clock moves by at most the cap; mv rises iff sessions or profiles changed; publishes then.
--                   Work: O(expired hosts); with a digest O(leases), so callers send it with every 10th beat
local host, incarnation, intent, profile = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local group, failure = open_group()
if failure then return failure end
local now_ms = math.floor(store_time_us() / 1000)
advance_clock(group, now_ms, tonumber(ARGV[9]))

local function drop(name)
  redis.call('ZREM', deadlines, name)
  redis.call('HDEL', incarnations, name)
  redis.call('HDEL', profiles, name)
  redis.call('HDEL', beats, name)
end

local expired = redis.call('ZRANGEBYSCORE', deadlines, '-inf', text(group.clock))
for _, name in ipairs(expired) do drop(name) end
local changed = #expired > 0
local present = redis.call('HGET', incarnations, host)
local mine = present == incarnation
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
  if not mine or redis.call('HGET', profiles, host) ~= profile then
    redis.call('HSET', incarnations, host, incarnation)
    redis.call('HSET', profiles, host, profile)
    changed = true
  end
  redis.call('ZADD', deadlines, text(group.clock + ARGV[8]), host)
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
if ARGV[10] ~= '' then
  local modulus = tonumber(ARGV[13])
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
  local whole = #ARGV < 14 or judge_cover(14)
  local same = whole and count == tonumber(ARGV[10]) and epochs == tonumber(ARGV[11]) and lsns == tonumber(ARGV[12])
  matches = same and 1 or 0
end
return { 'ok', group.gen, text(group.clock), text(group.mv), text(group.av), next_deadline, matches }
