import { describe, expect, test } from 'vitest'
import { DEFERRED, type SessionRow } from '../message-rows.ts'
import { maxDeliveryCountExceeded, TTL_EXPIRED } from './dead-letter-reasons.ts'
import {
  holdsMessage,
  holdsSession,
  isHeld,
  lockEndMs,
  returned,
  storeMsAtLockEnd,
} from './lock-rules.ts'
import { entityWith, LOCK, rowWith } from './rows.fixture.ts'

const OTHER = 'ffffffffffffffffffff'
const locked = rowWith({ lock: LOCK, dueMs: 5000 })

describe('who holds a lock', () => {
  test.each([
    ['SET-01 with its lock, before its end', locked, LOCK, 4999, true],
    ['SET-06 at its end it has ended', locked, LOCK, 5000, false],
    ['SET-19 another lock', locked, OTHER, 1000, false],
    ['SET-06 none', rowWith(), LOCK, 1000, false],
    ['a lock without an end is no lock of a message', rowWith({ lock: LOCK }), LOCK, 0, false],
  ])('%s', (_, row, lock, lockMs, expected) => {
    expect(holdsMessage(row, lock, lockMs)).toBe(expected)
  })

  test('SES-11 a session is held by its lock until before the end', () => {
    const session = sessionWith(LOCK, 5000)
    expect(isHeld(session, 4999)).toBe(true)
    expect(isHeld(session, 5000)).toBe(false)
    expect(isHeld(sessionWith(undefined, 0), 0)).toBe(false)
    expect(holdsSession(session, LOCK, 4999)).toBe(true)
    expect(holdsSession(session, LOCK, 5000)).toBe(false)
    expect(holdsSession(session, OTHER, 4999)).toBe(false)
  })

  test('SET-07 a lock lasts LockDuration by the lock clock', () => {
    const entity = entityWith({ lockDurationMs: 30_000 })
    expect(lockEndMs(entity, { storeMs: 1, lockMs: 1000 })).toBe(31_000)
  })
})

describe('a message whose lock ends', () => {
  const keeps = entityWith({ deadLettersExpired: true, maxDeliveryCount: 3 })
  const drops = entityWith({ maxDeliveryCount: 3 })
  const at = { storeMs: 2000, counts: 'delivery' } as const
  const expired = { ...locked, expiresMs: 2000 }

  test('SET-02 comes back unlocked, with one more delivery', () => {
    expect(returned({ ...locked, expiresMs: 2001 }, keeps, at)).toEqual({
      kind: 'stays',
      row: { ...locked, expiresMs: 2001, lock: undefined, dueMs: undefined, deliveries: 1 },
    })
  })

  test('EXP-06 expires at once when it has expired: dead-lettered, or dropped', () => {
    expect(returned(expired, keeps, at)).toMatchObject({ kind: 'dies', reason: TTL_EXPIRED })
    expect(returned(expired, drops, at)).toMatchObject({ kind: 'goes' })
  })

  test('SET-03 dies at the last delivery', () => {
    expect(returned({ ...locked, deliveries: 1 }, drops, at)).toMatchObject({ kind: 'stays' })
    expect(returned({ ...locked, deliveries: 2 }, drops, at)).toMatchObject({
      kind: 'dies',
      row: { deliveries: 3, lock: undefined, dueMs: undefined },
      reason: maxDeliveryCountExceeded(3),
    })
    expect(maxDeliveryCountExceeded(3)).toEqual({
      reason: 'MaxDeliveryCountExceeded',
      description: 'Message could not be consumed after 3 delivery attempts.',
    })
  })

  test('EXP-28 expiry wins over the number of deliveries', () => {
    const both = { ...expired, deliveries: 2 }
    expect(returned(both, keeps, at)).toMatchObject({ kind: 'dies', reason: TTL_EXPIRED })
    expect(returned(both, drops, at)).toMatchObject({ kind: 'goes' })
  })

  test('SET-05 EXP-21 stays deferred, expired or not, until the last delivery', () => {
    const deferred = { ...expired, state: DEFERRED }
    expect(returned(deferred, keeps, at)).toMatchObject({
      kind: 'stays',
      row: { state: DEFERRED, deliveries: 1 },
    })
    expect(returned({ ...deferred, deliveries: 2 }, keeps, at)).toMatchObject({
      kind: 'dies',
      reason: maxDeliveryCountExceeded(3),
    })
  })

  test('EXP-20 only comes back in a dead-letter queue, and no delivery is counted', () => {
    const queue = entityWith({ maxDeliveryCount: 3 }, { kind: 'deadLetter' })
    expect(returned({ ...expired, deliveries: 7 }, queue, at)).toMatchObject({
      kind: 'stays',
      row: { deliveries: 7, lock: undefined, dueMs: undefined },
    })
  })

  test('SES-11 counts no delivery when it is only given back, but expires', () => {
    const given = { storeMs: 2000, counts: 'nothing' } as const
    const last = { ...locked, deliveries: 2 }
    expect(returned(last, keeps, given)).toMatchObject({ kind: 'stays', row: { deliveries: 2 } })
    // The maximum was lowered meanwhile.
    const beyond = { ...locked, deliveries: 5 }
    expect(returned(beyond, keeps, given)).toMatchObject({ kind: 'stays', row: { deliveries: 5 } })
    expect(returned(expired, keeps, given)).toMatchObject({ kind: 'dies', reason: TTL_EXPIRED })
  })
})

test('EXP-06 what the end of a lock brings is judged at its instant', () => {
  expect(storeMsAtLockEnd(5000, { storeMs: 90_000, lockMs: 8000 })).toBe(87_000)
  expect(storeMsAtLockEnd(5000, { storeMs: 90_000, lockMs: 5000 })).toBe(90_000)
  expect(storeMsAtLockEnd(9000, { storeMs: 90_000, lockMs: 5000 })).toBe(90_000)
})

function sessionWith(lock: string | undefined, lockedUntilMs: number): SessionRow {
  return {
    entity: 7,
    session: 's',
    lock,
    lockedUntilMs,
    state: undefined,
    expiredThrough: 0,
    updatedMs: 0,
  }
}
