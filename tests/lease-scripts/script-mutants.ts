/** One rule taken out of one script. */
export interface ScriptMutant {
  /** The rule that is missing. */
  readonly rule: string
  /** The file of `lua/` without its ending; `prelude` stands before every script. */
  readonly script: string
  readonly find: string
  readonly replace: string
}

/** The comparison has to tell each of them from the scripts as they are. */
export const SCRIPT_MUTANTS: readonly ScriptMutant[] = [
  mutant('checkpoint', 'I2 an LSN never goes down', {
    find: 'tonumber(ARGV[at + 2]) < lsn',
    replace: 'false',
  }),
  mutant('checkpoint', 'an equal LSN is stored', {
    find: 'tonumber(ARGV[at + 2]) < lsn',
    replace: 'tonumber(ARGV[at + 2]) <= lsn',
  }),
  mutant('checkpoint', 'I3 only the owner at its epoch', {
    find: 'owned[i] ~= ARGV[at + 1] .. suffix',
    replace: 'not owned[i]',
  }),
  mutant('checkpoint', 'each change has an etag of its own', {
    find: 'version + 1',
    replace: 'version',
  }),
  mutant('release', 'I3 only the owner at its epoch', {
    find: 'owned[i] ~= ARGV[at + 1] .. suffix',
    replace: 'not owned[i]',
  }),
  mutant('release', 'I2 a lower last position is not stored', {
    find: 'tonumber(ARGV[at + 2]) >= lsn',
    replace: 'true',
  }),
  mutant('release', 'LE-11 the epoch stays', {
    find: 'math.max(tonumber(ARGV[at + 1]), ',
    replace: 'math.max(0, ',
  }),
  mutant('release', 'a lease named twice is released once', { find: 'freed[id] or ', replace: '' }),
  mutant('acquire', 'only what the plan gives to this host', {
    find: ' and wanted[i] == host',
    replace: '',
  }),
  mutant('acquire', 'I1 nothing of a live owner', {
    find: 'sessions[of_host] ~= of_incarnation',
    replace: 'true',
  }),
  mutant('acquire', 'nothing without a session', {
    find: "redis.call('HGET', incarnations, host) ~= incarnation or #ARGV < 6",
    replace: '#ARGV < 6',
  }),
  mutant('acquire', 'LE-11 above the epoch before', {
    find: 'math.max(epoch + 1, floor + 1, now_us)',
    replace: 'math.max(floor + 1, now_us)',
  }),
  mutant('acquire', 'LE-8 above the epochs that were discarded', {
    find: 'math.max(epoch + 1, floor + 1, now_us)',
    replace: 'math.max(epoch + 1, now_us)',
  }),
  mutant('acquire', 'not below store time', {
    find: 'math.max(epoch + 1, floor + 1, now_us)',
    replace: 'math.max(epoch + 1, floor + 1)',
  }),
  mutant('plan', 'only for the present membership', {
    find: 'tonumber(ARGV[4]) ~= group.mv or ',
    replace: '',
  }),
  mutant('plan', 'the first plan for a membership wins', {
    find: " or (current and ARGV[5] ~= '1')",
    replace: '',
  }),
  mutant('plan', 'a plan that rebalances takes the place of a current one', {
    find: "(current and ARGV[5] ~= '1')",
    replace: 'current',
  }),
  mutant('plan', 'the membership version rises with a plan that rebalances', {
    find: 'version = version + 1',
    replace: '',
  }),
  mutant('sync', 'a load is no change of membership', {
    find: 'without_load(stored) ~= without_load(profile)',
    replace: 'stored ~= profile',
  }),
  mutant('plan', 'a paused group has no targets', { find: ' and not group.paused', replace: '' }),
  mutant('plan', 'only of leases that are there', {
    find: 'known[id] and not',
    replace: 'not',
  }),
  mutant('sync', 'the lease clock moves by one heartbeat at most', {
    find: 'math.min(elapsed, cap)',
    replace: 'elapsed',
  }),
  mutant('sync', 'the lease clock never goes back', {
    find: 'math.max(before, seen_clock + math.min(elapsed, cap))',
    replace: 'seen_clock + math.min(elapsed, cap)',
  }),
  mutant('sync', 'a clock that was lost proves nothing', {
    find: "seen_clock and mine and tonumber(redis.call('HGET', beats, host)) == tonumber(ARGV[11])",
    replace: 'seen_clock and mine',
  }),
  mutant('sync', 'a session lasts from the latest that the clock may have come to', {
    find: 'math.max(group.clock, newer_reached, older_reached)',
    replace: 'group.clock',
  }),
  mutant('sync', 'a host that cannot compare the clocks gets all the time there may be', {
    find: 'local vouches = seen and',
    replace: 'local vouches = not seen or',
  }),
  mutant('sync', 'a clock that is slow says nothing', {
    find: ' or now_ms < newer.time or not vouches then',
    replace: ' or now_ms < newer.time or not seen then',
  }),
  mutant('sync', 'a clock that goes back says nothing', {
    find: ' or now_ms < newer.time or not vouches then',
    replace: ' or not vouches then',
  }),
  mutant('sync', 'the span before counts too', {
    find: ', newer_reached, older_reached)',
    replace: ', newer_reached)',
  }),
  mutant('sync', 'of a span the farthest counts', {
    find: ' and group.clock >= newer_reached',
    replace: '',
  }),
  mutant('prelude', 'numbers keep all their digits', {
    find: "string.format('%.0f', number)",
    replace: 'tostring(number)',
  }),
  mutant('prelude', 'a set that changes needs a new plan', {
    find: 'if group.av >= group.mv then raise_membership(group) end',
    replace: '',
  }),
  mutant('sync', 'LE-4 expired sessions are dropped', {
    find: 'for _, name in ipairs(expired) do drop(name) end',
    replace: '',
  }),
  mutant('sync', 'LE-16 the session of a host that is gone is dropped', {
    find: 'drop(gone[i])',
    replace: '',
  }),
  mutant('sync', 'LE-16 another incarnation is not gone', {
    find: "redis.call('HGET', incarnations, gone[i]) == gone[i + 1]",
    replace: "redis.call('HGET', incarnations, gone[i])",
  }),
  mutant('sync', 'a beat makes no session', {
    find: "elseif intent == 'beat' and not mine then",
    replace: 'elseif false then',
  }),
  mutant('sync', 'nobody ends the session of his successor', {
    find: 'elseif present then',
    replace: 'elseif false then',
  }),
  mutant('sync', 'a changed profile is a changed membership', {
    find: 'not mine or without_load(stored) ~= without_load(profile)',
    replace: 'not mine',
  }),
  mutant('sync', 'the digest compares the LSNs', {
    find: ' and lsns == tonumber(ARGV[16])',
    replace: '',
  }),
  mutant('sync', 'the digest is of this host alone', {
    find: 'tonumber(string.sub(value, 1, -#suffix - 1))',
    replace: 'parse_owner(value)',
  }),
  mutant('sync', 'the deadline is that of another', { find: 'first[i] ~= host', replace: 'true' }),
  mutant('create', 'only where there are no leases', {
    find: ' and not has_leases',
    replace: '',
  }),
  mutant('discard', 'LE-8 a token discards once', {
    find: 'if group.token == ARGV[4] then return 0 end',
    replace: '',
  }),
  mutant('discard', 'LE-8 the highest epoch is kept', {
    find: 'text(floor)',
    replace: 'text(group.floor)',
  }),
  mutant('replace', 'I3 only the owner at its epoch', {
    find: 'owned[i] == old_epochs[i] .. suffix',
    replace: 'owned[i]',
  }),
  mutant('replace', 'I2 a child does not begin below its parent', {
    find: 'if stored_lsn > tonumber(lsn) then',
    replace: 'if false then',
  }),
  mutant('replace', 'a lease replaced by itself may go back', {
    find: 'parent > 0 and not goes_back',
    replace: 'parent > 0',
  }),
  mutant('replace', 'it may be repeated', {
    find: 'if not new_stored[i] or not same then',
    replace: 'if true then',
  }),
  mutant('replace', 'LE-11 above the epochs of the old ones', {
    find: 'math.max(last_epoch + 1, group.floor + 1, now_us)',
    replace: 'math.max(group.floor + 1, now_us)',
  }),
  mutant('replace', 'everybody plans again', { find: 'raise_membership(group)', replace: '' }),
  mutant('replace', 'the target that all had stays', {
    find: 'if target then redis',
    replace: 'if false then redis',
  }),
  mutant('override', 'not if a lease has changed', {
    find: ' or epoch ~= old_epochs[i]',
    replace: '',
  }),
  mutant('override', 'LE-11 above the epochs of the old ones', {
    find: 'math.max(last_epoch + 1, group.floor + 1, now_us)',
    replace: 'math.max(group.floor + 1, now_us)',
  }),
  mutant('override', 'LE-8 above the epochs that were discarded', {
    find: 'math.max(last_epoch + 1, group.floor + 1, now_us)',
    replace: 'math.max(last_epoch + 1, now_us)',
  }),
  mutant('override', 'no plan names the new leases', {
    find: "redis.call('HDEL', targets, unpack(old_ids))",
    replace: '',
  }),
  mutant('override', 'the old leases go', {
    find: "redis.call('HDEL', checkpoints, unpack(old_ids))",
    replace: '',
  }),
  mutant('override', 'everybody plans again', { find: 'raise_membership(group)', replace: '' }),
  mutant('prelude', 'the leases end where the keys of the group do', {
    find: 'whole = whole and at == ARGV[i + 1]',
    replace: 'whole = true',
  }),
  mutant('prelude', 'no lease beside those that cover the keys', {
    find: 'return whole and left == 0, count',
    replace: 'return whole, count',
  }),
  mutant('sync', 'a set that is damaged matches no digest', {
    find: 'local same = whole and count',
    replace: 'local same = count',
  }),
  mutant('declare-lost', 'a set that is whole stays', {
    find: 'if whole or count == 0 then',
    replace: 'if count == 0 then',
  }),
  mutant('declare-lost', 'no leases are none that can be lost', {
    find: 'if whole or count == 0 then',
    replace: 'if whole then',
  }),
  mutant('declare-lost', 'LE-8 the highest epoch is kept', {
    find: 'text(floor)',
    replace: 'text(group.floor)',
  }),
  mutant('declare-lost', 'no plan names the leases that are gone', {
    find: 'checkpoints, targets)',
    replace: 'checkpoints)',
  }),
  mutant('declare-lost', 'everybody plans again', {
    find: 'raise_membership(group)',
    replace: '',
  }),
  mutant('checkpoint', 'leases with other positions have another name', {
    find: "rename('lt')",
    replace: '',
  }),
  mutant('acquire', 'leases with other owners have another name', {
    find: "rename('lt')",
    replace: '',
  }),
  mutant('release', 'leases that were freed have another name', {
    find: "rename('lt')",
    replace: '',
  }),
  mutant('plan', 'another plan has another name', {
    find: "rename('tt')",
    replace: '',
  }),
  mutant('replace', 'leases that were replaced have another name', {
    find: "rename('lt')",
    replace: '',
  }),
  mutant('replace', 'targets of leases that were replaced have another name', {
    find: "rename('tt')",
    replace: '',
  }),
  mutant('override', 'leases that were moved have another name', {
    find: "rename('lt')",
    replace: '',
  }),
  mutant('override', 'targets of leases that were moved have another name', {
    find: "rename('tt')",
    replace: '',
  }),
  mutant('create', 'whoever made other leases is sent those that are there', {
    find: 'of == digest and name',
    replace: 'name',
  }),
  mutant('release', 'LE-11 an epoch that a sink has seen counts', {
    find: 'tonumber(ARGV[at + 4]) or 0',
    replace: '0',
  }),
  mutant('claim-feed', 'LE-17 the feed that is noted stays', {
    find: 'if noted and cjson',
    replace: 'if false and cjson',
  }),
  mutant('claim-feed', 'LE-17 one that is named is replaced', {
    find: 'cjson.decode(noted).rid ~= ARGV[5]',
    replace: 'true',
  }),
  mutant('claim-feed', 'the hosts of a feed that was replaced notice', {
    find: 'if noted then raise_membership(group) end',
    replace: '',
  }),
  mutant('discard', 'LE-17 LE-8 the feed is forgotten', {
    find: "'feed', 'given'",
    replace: "'given'",
  }),
  mutant('discard', 'leases that were discarded are not missing', {
    find: "'feed', 'given'",
    replace: "'feed'",
  }),
  mutant('declare-lost', 'leases that were declared lost are not missing', {
    find: "redis.call('HDEL', meta, 'given')",
    replace: '',
  }),
  mutant('create', 'it is known that the group was given leases', {
    find: "'given', '1', ",
    replace: '',
  }),
  mutant('pause', 'everybody plans again', { find: 'raise_membership(group)', replace: '' }),
  mutant('pause', 'it says whether anything changed', {
    find: 'if group.paused == wanted then return 0 end',
    replace: '',
  }),
]

function mutant(
  script: string,
  rule: string,
  change: Pick<ScriptMutant, 'find' | 'replace'>,
): ScriptMutant {
  return { script, rule, ...change }
}
