import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../message-commands.ts'
import { ACTIVE, DEFERRED, SCHEDULED } from '../message-rows.ts'
import { TTL_EXPIRED } from './dead-letter-reasons.ts'
import { activated, arrivedRow, deadLettered, sentRow } from './enqueued-rows.ts'
import { entityWith, LOCK, rowWith } from './rows.fixture.ts'

const BODY = new Uint8Array([1, 2])
const given = { number: 12, storeMs: 1000 }

describe('a message that is sent', () => {
  test('EXP-01 gets an absolute expiry from its enqueue', () => {
    expect(sentRow(messageWith({ ttlMs: 500 }), entityWith(), given)).toEqual({
      entity: 7,
      number: 12,
      firstNumber: 12,
      state: ACTIVE,
      session: undefined,
      enqueuedMs: 1000,
      ttlMs: 500,
      expiresMs: 1500,
      dueMs: undefined,
      lock: undefined,
      deliveries: 0,
      hops: 0,
      deadLetterSource: undefined,
      changes: undefined,
      bytes: 30,
      head: 'h',
      body: BODY,
    })
  })

  test('EXP-10 has its TTL cut to the default', () => {
    const row = sentRow(messageWith({ ttlMs: 9000 }), entityWith({ defaultTtlMs: 2000 }), given)
    expect(row).toMatchObject({ ttlMs: 2000, expiresMs: 3000 })
  })

  test('SES-10 names its session only where there are sessions', () => {
    const message = messageWith({ session: 's' })
    expect(sentRow(message, entityWith(), given).session).toBeUndefined()
    expect(sentRow(message, entityWith({ requiresSession: true }), given).session).toBe('s')
  })

  test('SCH-01 SCH-07 SCH-08 waits for its instant without an expiry', () => {
    const entity = entityWith({ defaultTtlMs: 2000 })
    expect(sentRow(messageWith({ scheduledMs: 5000, ttlMs: 9000 }), entity, given)).toMatchObject({
      state: SCHEDULED,
      dueMs: 5000,
      enqueuedMs: 5000,
      ttlMs: 2000,
      expiresMs: undefined,
    })
  })

  test.each([999, 1000])('SCH-06 scheduled for %d, which is not later, is enqueued now', (ms) => {
    const row = sentRow(messageWith({ scheduledMs: ms, ttlMs: 10 }), entityWith(), given)
    expect(row).toMatchObject({
      state: ACTIVE,
      enqueuedMs: 1000,
      expiresMs: 1010,
      dueMs: undefined,
    })
  })
})

describe('a scheduled message whose instant has come', () => {
  const scheduled = rowWith({ state: SCHEDULED, dueMs: 5000, enqueuedMs: 5000, ttlMs: 700 })

  test('SCH-02 expires counted from its instant, whenever it is applied', () => {
    expect(activated(scheduled, entityWith())).toEqual({
      ...scheduled,
      state: ACTIVE,
      dueMs: undefined,
      expiresMs: 5700,
    })
  })

  test('SCH-08 the ceiling of then applies', () => {
    expect(activated(scheduled, entityWith({ defaultTtlMs: 100 }))).toMatchObject({
      ttlMs: 100,
      expiresMs: 5100,
    })
  })
})

describe('a message in the dead-letter queue', () => {
  test('EXP-16 EXP-30 keeps times and deliveries, and gets reason, place and number', () => {
    const row = rowWith({
      number: 3,
      state: DEFERRED,
      session: 's',
      enqueuedMs: 10,
      ttlMs: 20,
      expiresMs: 30,
      dueMs: 40,
      lock: LOCK,
      deliveries: 2,
      changes: '{"properties":{"a":1}}',
    })
    const changes = JSON.stringify({
      properties: {
        a: 1,
        DeadLetterReason: TTL_EXPIRED.reason,
        DeadLetterErrorDescription: TTL_EXPIRED.description,
      },
      diedMs: 99,
    })
    expect(deadLettered(row, TTL_EXPIRED, { deadLetterQueue: 8, number: 5, storeMs: 99 })).toEqual({
      ...row,
      bytes: row.bytes + changes.length - 22,
      entity: 8,
      number: 5,
      state: ACTIVE,
      session: undefined,
      dueMs: undefined,
      lock: undefined,
      changes,
    })
  })
})

describe('a message that arrives from elsewhere', () => {
  const passage = {
    enqueuedMs: 2000,
    ttlMs: 500,
    firstNumber: 3,
    hops: 1,
    deadLetterSource: 'orders',
    changes: '{"removed":["a"]}',
    bytes: 30,
    head: 'h',
    body: BODY,
  }

  test('SET-18 keeps its first number, and counts its TTL from here', () => {
    const row = arrivedRow(passage, entityWith(), { number: 9, session: undefined })
    expect(row).toMatchObject({
      ...passage,
      number: 9,
      firstNumber: 3,
      deliveries: 0,
      expiresMs: 2500,
    })
  })

  test('EXP-14 is cut to the ceiling of its destination', () => {
    const entity = entityWith({ defaultTtlMs: 100 })
    const row = arrivedRow(passage, entity, { number: 9, session: undefined })
    expect(row).toMatchObject({ ttlMs: 100, expiresMs: 2100 })
  })

  test('TOP-03 carries the changes of a rule, and its session', () => {
    const row = arrivedRow(passage, entityWith({ requiresSession: true }), {
      number: 9,
      session: 't',
      changes: { properties: { RuleName: 'r' } },
    })
    expect(row.session).toBe('t')
    expect(row.changes).toBe('{"properties":{"RuleName":"r"},"removed":["a"]}')
  })
})

function messageWith(message: Partial<NewMessage>): NewMessage {
  return {
    head: 'h',
    body: BODY,
    bytes: 30,
    messageId: 'm',
    session: undefined,
    ttlMs: undefined,
    scheduledMs: undefined,
    copies: [],
    ...message,
  }
}
