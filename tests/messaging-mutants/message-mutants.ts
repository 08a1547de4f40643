import type { Edit } from '../simulation/mutants/mutant.ts'

/** A rule of messages taken out of the shipped code, by text. */
export interface MessageMutant {
  /** The rule that is broken; a test that fails must name it. */
  readonly rule: string
  readonly name: string
  /** From `packages/store/src/messages/`. */
  readonly edit: Edit
}

function mutant(rule: string, name: string, edit: Edit): MessageMutant {
  return { rule, name, edit }
}

/** Each takes a rule of expiry, schedules, sessions, idle entities, settlement or topics out of what decides it. */
export const MESSAGE_MUTANTS: readonly MessageMutant[] = [
  mutant('EXP-01', 'expiry counts double', {
    file: 'rules/effective-ttl.ts',
    find: 'Math.min(enqueuedMs + ttlMs, LATEST_MS)',
    replace: 'Math.min(enqueuedMs + 2 * ttlMs, LATEST_MS)',
  }),
  mutant('EXP-04', 'expiry needs no listener', {
    file: 'procedures/apply-due.ts',
    find: "const listens = listening !== 'nobody'",
    replace: 'const listens = true',
  }),
  mutant('EXP-06', 'the end of a lock brings no expiry', {
    file: 'rules/lock-rules.ts',
    find: 'if (back.state !== DEFERRED && hasExpired(back, at.storeMs)) return expire(back, entity)',
    replace: '',
  }),
  mutant('EXP-10', 'the longest TTL wins', {
    file: 'rules/effective-ttl.ts',
    find: 'ttl < shortest',
    replace: 'ttl > shortest',
  }),
  mutant('EXP-15', 'expired messages are always dropped', {
    file: 'rules/expiry-of-messages.ts',
    find: 'return settings.deadLettersExpired',
    replace: 'return settings.deadLettersExpired && !settings.deadLettersExpired',
  }),
  mutant('EXP-16', 'another reason', {
    file: 'rules/dead-letter-reasons.ts',
    find: "reason: 'TTLExpiredException'",
    replace: "reason: 'Expired'",
  }),
  mutant('EXP-20', 'dead letters expire', {
    file: 'procedures/receive-messages.ts',
    find: "record.kind === 'deadLetter' ? undefined : work.time.storeMs",
    replace: 'work.time.storeMs',
  }),
  mutant('EXP-21', 'deferred messages expire at the end of their lock', {
    file: 'rules/lock-rules.ts',
    find: 'back.state !== DEFERRED && hasExpired',
    replace: 'hasExpired',
  }),
  mutant('SCH-01', 'a scheduled message is enqueued at once', {
    file: 'rules/enqueued-rows.ts',
    find: 'message.scheduledMs !== undefined && message.scheduledMs > storeMs',
    replace: 'message.scheduledMs !== undefined && message.scheduledMs > storeMs + 1e9',
  }),
  mutant('SCH-02', 'expiry counts from the send', {
    file: 'rules/enqueued-rows.ts',
    find: 'expiresMs: expiryMs(enqueuedMs, ttlMs),\n  }\n}\n\n/**\n * A message in the dead-letter',
    replace: 'expiresMs: undefined,\n  }\n}\n\n/**\n * A message in the dead-letter',
  }),
  mutant('SCH-04', 'an enqueued message can be cancelled', {
    file: 'procedures/cancel-scheduled.ts',
    find: 'row === undefined || !isPending(row, work.time.storeMs)',
    replace: 'row === undefined',
  }),
  mutant('SCH-05', 'a message keeps its number when it is enqueued', {
    file: 'procedures/carry-out.ts',
    find: 'return { ...row, number, firstNumber: number }',
    replace: 'return row',
  }),
  mutant('SES-01', 'only the expired message of a session goes', {
    file: 'procedures/apply-due.ts',
    find: 'rows.map((row) => expire(row, entity))',
    replace:
      'rows.filter((row) => (row.expiresMs ?? Infinity) <= work.time.storeMs).map((row) => expire(row, entity))',
  }),
  mutant('SES-03', 'sessions expire without a listener', {
    file: 'procedures/apply-due.ts',
    find: "if (listening === 'nobody' || !isPast(place.expiresMs, work.time.storeMs)) return 'nothing'",
    replace:
      "if (!isPast(place.expiresMs, work.time.storeMs)) return 'nothing'\n  if (listening === 'nobody') listening = 'everything'",
  }),
  mutant('SES-11', 'a session that is let go counts deliveries', {
    file: 'procedures/session-holds.ts',
    find: "counts: 'nothing'",
    replace: "counts: 'delivery'",
  }),
  mutant('SES-12', 'a held session is offered', {
    file: 'rules/lock-rules.ts',
    find: 'return session.lock !== undefined && session.lockedUntilMs > lockMs',
    replace: 'return session.lock !== undefined && session.lockedUntilMs > lockMs && lockMs < 0',
  }),
  mutant('SES-15', 'the end of a session lock counts no delivery', {
    file: 'procedures/apply-due.ts',
    find: "returned(row, entity, { storeMs, counts: 'delivery' })",
    replace: "returned(row, entity, { storeMs, counts: 'nothing' })",
  }),
  mutant('TMP-01', 'idle entities stay', {
    file: 'rules/idle-entity.ts',
    find: 'return accessedMs + autoDeleteOnIdleMs',
    replace: 'return accessedMs + 100 * autoDeleteOnIdleMs',
  }),
  mutant('TMP-05', 'a scheduled message does not hold the timer', {
    file: 'rules/idle-entity.ts',
    find: 'Math.max(entity.accessedMs, scheduledMs ?? 0)',
    replace: 'entity.accessedMs',
  }),
  mutant('TMP-08', 'an entity that forwards is idle', {
    file: 'rules/idle-entity.ts',
    find: ' || forwardTo !== undefined) {',
    replace: ') {',
  }),
  mutant('SET-02', 'an abandoned message counts no delivery', {
    file: 'rules/settlement.ts',
    find: "return returned(changed, entity, { storeMs, counts: 'delivery' })",
    replace: "return returned(changed, entity, { storeMs, counts: 'nothing' })",
  }),
  mutant('SET-03', 'one delivery too many', {
    file: 'rules/lock-rules.ts',
    find: 'deliveries >= entity.settings.maxDeliveryCount',
    replace: 'deliveries > entity.settings.maxDeliveryCount',
  }),
  mutant('SET-04', 'dead letters are dead-lettered', {
    file: 'rules/settlement.ts',
    find: "if (entity.kind === 'deadLetter') return 'notAllowed'",
    replace: '',
  }),
  mutant('SET-05', 'a deferred message that comes back is active', {
    file: 'rules/lock-rules.ts',
    find: 'const back = { ...unlocked(row), deliveries }',
    replace: 'const back = { ...unlocked(row), deliveries, state: 0 as const }',
  }),
  mutant('SET-06', 'a lock that has ended still settles', {
    file: 'rules/lock-rules.ts',
    find: 'return row.lock === lock && row.dueMs !== undefined && row.dueMs > lockMs',
    replace: 'return row.dueMs !== undefined || lockMs > 0 || lock === row.lock',
  }),
  mutant('SET-07', 'renewing does nothing', {
    file: 'procedures/renew-messages.ts',
    find: 'else if (renewed.size > 0) yield*',
    replace: 'else if (renewed.size < 0) yield*',
  }),
  mutant('SET-10', 'duplicates are kept', {
    file: 'procedures/claim-fresh-ids.ts',
    find: 'duplicateWindowMs === undefined',
    replace: 'duplicateWindowMs !== 1.5',
  }),
  mutant('TOP-08', 'a copy whose filter failed is delivered', {
    file: 'procedures/fan-out.ts',
    find: 'if (deadLetter !== undefined) return deadLetter',
    replace: '',
  }),
]
