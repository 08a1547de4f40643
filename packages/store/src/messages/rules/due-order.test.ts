import { describe, expect, test } from 'vitest'
import { SCHEDULED, type MessageRow } from '../message-rows.ts'
import { planDue } from './due-order.ts'
import { entityWith, LOCK, rowWith } from './rows.fixture.ts'

const entity = entityWith({ deadLettersExpired: true, maxDeliveryCount: 2 })
/** The lock clock is a minute behind. */
const NOW = { storeMs: 100_000, lockMs: 40_000 }

function lockedUntil(dueMs: number, row: Partial<MessageRow> & { number: number }): MessageRow {
  return rowWith({ lock: LOCK, dueMs, ...row })
}

function scheduledFor(dueMs: number, row: Partial<MessageRow> & { number: number }): MessageRow {
  return rowWith({ state: SCHEDULED, dueMs, enqueuedMs: dueMs, ...row })
}

function plan(given: {
  due?: readonly MessageRow[]
  expired?: readonly MessageRow[]
  listens?: boolean
  max?: number
}): { readonly fates: readonly string[]; readonly isPiece: boolean } {
  const { due = [], expired = [], listens = false, max = 100 } = given
  const { fates, isPiece } = planDue(entity, NOW, { due, expired, listens, max })
  return { fates: fates.map(({ kind, row }) => `${kind} ${row.number}`), isPiece }
}

describe('what is due outside of sessions', () => {
  test('nothing', () => {
    expect(plan({})).toEqual({ fates: [], isPiece: false })
  })

  test('goes by instant, then by number, whatever kind it is', () => {
    const due = [
      lockedUntil(10, { number: 5 }),
      lockedUntil(30, { number: 2, deliveries: 1 }),
      scheduledFor(30, { number: 4 }),
    ]
    const expired = [
      rowWith({ number: 9, expiresMs: 20 }),
      rowWith({ number: 3, expiresMs: 30 }),
      rowWith({ number: 1, expiresMs: 31 }),
    ]
    expect(plan({ due, expired, listens: true })).toEqual({
      fates: ['stays 5', 'dies 9', 'dies 2', 'dies 3', 'activates 4', 'dies 1'],
      isPiece: false,
    })
  })

  test('EXP-06 a message that had expired when its lock ended expires without a listener', () => {
    // 100 ms before now by the lock clock is 100 ms before now by the store's.
    const expired = lockedUntil(39_900, { number: 1, expiresMs: 99_900 })
    const later = lockedUntil(39_900, { number: 2, expiresMs: 99_901 })
    expect(plan({ due: [expired, later] }).fates).toEqual(['dies 1', 'stays 2'])
  })

  test('EXP-04 one that expired after the end of its lock expires only when somebody listens', () => {
    const due = [lockedUntil(39_000, { number: 1, expiresMs: 99_500 })]
    expect(plan({ due }).fates).toEqual(['stays 1'])
    expect(plan({ due, listens: true }).fates).toEqual(['stays 1', 'dies 1'])
  })

  test('SCH-02 a scheduled message that has expired since its instant expires when somebody listens', () => {
    const due = [scheduledFor(50_000, { number: 1, ttlMs: 900 })]
    expect(plan({ due }).fates).toEqual(['activates 1'])
    expect(plan({ due, listens: true }).fates).toEqual(['activates 1', 'dies 1'])
  })

  test('SCH-05 numbers rise by the scheduled instant', () => {
    const due = [scheduledFor(10, { number: 8 }), scheduledFor(20, { number: 3 })]
    expect(plan({ due }).fates).toEqual(['activates 8', 'activates 3'])
  })

  test('an expiry that follows from an event takes its place in the order', () => {
    const due = [
      scheduledFor(10_000, { number: 1, ttlMs: 5000 }),
      scheduledFor(20_000, { number: 2 }),
    ]
    const expired = [
      rowWith({ number: 3, expiresMs: 12_000 }),
      rowWith({ number: 4, expiresMs: 17_000 }),
    ]
    expect(plan({ due, expired, listens: true }).fates).toEqual([
      'activates 1',
      'dies 3',
      'dies 1',
      'dies 4',
      'activates 2',
    ])
  })
})

describe('a piece', () => {
  test('ends after `max` events, the first of both kinds', () => {
    const due = [lockedUntil(10, { number: 1 }), lockedUntil(40, { number: 2 })]
    const expired = [rowWith({ number: 3, expiresMs: 20 }), rowWith({ number: 4, expiresMs: 30 })]
    expect(plan({ due, expired, listens: true, max: 2 })).toEqual({
      fates: ['stays 1', 'dies 3'],
      isPiece: true,
    })
  })

  test('is one as soon as it is full: more may be there', () => {
    const due = [lockedUntil(10, { number: 1 }), lockedUntil(40, { number: 2 })]
    expect(plan({ due, max: 2 }).isPiece).toBe(true)
    expect(plan({ due, max: 3 }).isPiece).toBe(false)
  })

  test('leaves what follows behind its end to the next one', () => {
    const due = [
      scheduledFor(10_000, { number: 1, ttlMs: 5000 }),
      scheduledFor(11_000, { number: 2, ttlMs: 500 }),
      scheduledFor(12_000, { number: 3, ttlMs: 100 }),
    ]
    expect(plan({ due, listens: true, max: 3 })).toEqual({
      fates: ['activates 1', 'activates 2', 'dies 2', 'activates 3'],
      isPiece: true,
    })
  })
})
