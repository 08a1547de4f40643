import { expect, test } from 'vitest'
import { ACTIVE, DEFERRED, SCHEDULED } from '../message-rows.ts'
import { TTL_EXPIRED } from './dead-letter-reasons.ts'
import { expire, hasExpired, isWaiting } from './expiry-of-messages.ts'
import { entityWith, LOCK, rowWith } from './rows.fixture.ts'

test.each([
  ['EXP-19 not a millisecond before', 2001, 2000, false],
  ['EXP-02 from its expiry on', 2000, 2000, true],
  ['EXP-02 afterwards', 1, 2000, true],
  ['EXP-12 never', undefined, Number.MAX_SAFE_INTEGER, false],
])('%s', (_, expiresMs, atMs, expected) => {
  expect(hasExpired(rowWith({ expiresMs }), atMs)).toBe(expected)
})

test.each([
  ['an active message waits', { state: ACTIVE }, true],
  ['EXP-05 a locked one does not', { state: ACTIVE, lock: LOCK }, false],
  ['EXP-21 a deferred one does not', { state: DEFERRED }, false],
  ['SCH-07 a scheduled one does not', { state: SCHEDULED }, false],
])('%s', (_, row, expected) => {
  expect(isWaiting(rowWith(row))).toBe(expected)
})

test('EXP-15 EXP-16 an expired message is dropped, or dead-lettered with the reason', () => {
  const row = rowWith({ expiresMs: 1 })
  expect(expire(row, entityWith())).toEqual({ kind: 'goes', row })
  expect(expire(row, entityWith({ deadLettersExpired: true }))).toEqual({
    kind: 'dies',
    row,
    reason: TTL_EXPIRED,
  })
  expect(TTL_EXPIRED).toEqual({
    reason: 'TTLExpiredException',
    description: 'The message expired and was dead lettered.',
  })
})
