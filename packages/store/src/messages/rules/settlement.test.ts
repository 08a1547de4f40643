import { expect, test } from 'vitest'
import type { Outcome } from '../message-commands.ts'
import { DEFERRED } from '../message-rows.ts'
import { settledFate } from './settlement.ts'
import { TTL_EXPIRED } from './dead-letter-reasons.ts'
import { entityWith, LOCK, rowWith } from './rows.fixture.ts'

const NOW = { storeMs: 2000, lockMs: 2000 }
const queue = entityWith({ deadLettersExpired: true })
const deadLetterQueue = entityWith({}, { kind: 'deadLetter' })
const locked = rowWith({ lock: LOCK, dueMs: 9000 })
const expired = { ...locked, expiresMs: 1000 }
const changes = { properties: { a: 1 } }
const CHANGED = '{"properties":{"a":1}}'
const deadLetter: Outcome = { kind: 'deadLetter', changes, reason: 'bad', description: undefined }

test.each([
  ['SET-01 complete removes', locked, { kind: 'complete' }, { kind: 'goes' }],
  ['EXP-05 complete after the expiry, too', expired, { kind: 'complete' }, { kind: 'goes' }],
  [
    'SET-02 abandon unlocks, counts and changes',
    locked,
    { kind: 'abandon', changes },
    {
      kind: 'stays',
      row: { lock: undefined, dueMs: undefined, deliveries: 1, changes: CHANGED },
    },
  ],
  [
    'EXP-07 abandon after the expiry expires, with the changes',
    expired,
    { kind: 'abandon', changes },
    { kind: 'dies', reason: TTL_EXPIRED, row: { changes: CHANGED } },
  ],
  [
    'SET-05 defer keeps, and counts no delivery',
    locked,
    { kind: 'defer', changes },
    {
      kind: 'stays',
      row: { state: DEFERRED, lock: undefined, dueMs: undefined, deliveries: 0, changes: CHANGED },
    },
  ],
  [
    'EXP-08 defer after the expiry keeps, too',
    expired,
    { kind: 'defer', changes: undefined },
    { kind: 'stays', row: { state: DEFERRED } },
  ],
  [
    'SET-04 EXP-17 dead-letter has the reason of the application, expired or not',
    expired,
    deadLetter,
    { kind: 'dies', reason: { reason: 'bad', description: undefined }, row: { changes: CHANGED } },
  ],
  [
    'what was received ahead comes back uncounted',
    locked,
    { kind: 'release' },
    { kind: 'stays', row: { lock: undefined, dueMs: undefined, deliveries: 0 } },
  ],
  [
    'EXP-02 what was received ahead and has expired expires',
    expired,
    { kind: 'release' },
    { kind: 'dies', reason: TTL_EXPIRED },
  ],
] as const)('%s', (_, row, outcome, expected) => {
  expect(settledFate(row, queue, outcome, NOW)).toMatchObject(expected)
})

test('SET-04 dead-lettering out of a dead-letter queue is not allowed', () => {
  expect(settledFate(locked, deadLetterQueue, deadLetter, NOW)).toBe('notAllowed')
})

test('EXP-20 a message of a dead-letter queue can be settled in every other way', () => {
  const fate = settledFate(expired, deadLetterQueue, { kind: 'abandon', changes: undefined }, NOW)
  expect(fate).toMatchObject({ kind: 'stays', row: { deliveries: 0 } })
})
