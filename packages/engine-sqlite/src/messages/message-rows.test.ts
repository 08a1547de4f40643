import type { EntitySettings, NewMessageRow } from '@tidemark/store/messages'
import { beforeEach, expect, test } from 'vitest'
import { Connection } from '../connection/connection.ts'
import { DATABASE_TABLES } from '../connection/schema.ts'
import { MessageRows } from './message-rows.ts'
import { makeMessageTables } from './message-tables.ts'

const settings: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: 2 ** 30,
  maxMessageBytes: 2 ** 20,
  status: 'Active',
  userMetadata: '',
}

const TIME = { storeMs: 1000, lockMs: 500 }
const LOCK = 'a'.repeat(20)

let rows: MessageRows
let queue = 0
beforeEach(() => {
  const connection = Connection.inMemory(DATABASE_TABLES)
  makeMessageTables(connection)
  rows = new MessageRows(connection)
  const created = rows.createEntities(
    [{ kind: 'queue', path: 'Orders', settings, rules: [], parent: undefined }],
    TIME,
  )
  queue = 'exists' in created ? 0 : (created[0]?.number ?? 0)
})

function message(number: number, changes: Partial<NewMessageRow> = {}): NewMessageRow {
  return {
    entity: queue,
    number,
    state: 0,
    session: undefined,
    enqueuedMs: 1000 + number,
    ttlMs: undefined,
    expiresMs: undefined,
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    firstNumber: number,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes: 100,
    head: `{"n":${number}}`,
    body: new Uint8Array([number]),
    ...changes,
  }
}

const take = (changes: Partial<Parameters<MessageRows['take']>[0]> = {}) =>
  rows.take({
    entity: queue,
    session: undefined,
    afterNumber: 0,
    notExpiredAtMs: undefined,
    max: 10,
    maxBytes: 1000,
    deletes: false,
    locks: [LOCK],
    dueMs: 900,
    ...changes,
  })

const numbers = (list: readonly { readonly number: number }[]) => list.map(({ number }) => number)

test('rows come back as they were written', () => {
  const full = message(1, {
    state: 2,
    session: 's',
    ttlMs: 9e18,
    expiresMs: 9e18 + 5000,
    dueMs: 7,
    deliveries: 2,
    hops: 1,
    deadLetterSource: 'a/b',
    changes: '{}',
    body: new Uint8Array(0),
  })
  rows.insert([full])
  expect(rows.messagesById([1])).toEqual([{ ...full, id: 1 }])
})

test('messages are taken in order, within the bytes, once', () => {
  rows.insert([1, 2, 3, 4].map((n) => message(n, { expiresMs: n === 2 ? 1000 : undefined })))
  const first = take({ max: 2, notExpiredAtMs: 1000 })
  expect(numbers(first)).toEqual([1, 3])
  expect(first[0]).toMatchObject({ lock: LOCK, dueMs: 900, head: '{"n":1}' })
  expect(numbers(take({ maxBytes: 1 }))).toEqual([2])
  expect(numbers(take({ deletes: true, locks: [] }))).toEqual([4])
  expect(take()).toEqual([])
  expect(
    numbers(rows.peek({ entity: queue, session: undefined, fromNumber: 2, max: 9, maxBytes: 150 })),
  ).toEqual([2])
  expect(rows.readPlace(queue)).toMatchObject({ dueMs: 900, expiresMs: undefined })
})

test('what is due comes by its own clock, in the order of instant and number', () => {
  rows.insert([
    message(1, { lock: LOCK, dueMs: 50 }),
    message(2, { lock: LOCK, dueMs: 20, state: 1 }),
    message(3, { state: 2, dueMs: 20 }),
    message(4, { state: 2, dueMs: 70 }),
    message(5, { lock: LOCK, dueMs: 60 }),
  ])
  expect(numbers(rows.dueRows(queue, { storeMs: 69, lockMs: 59 }, 9))).toEqual([2, 3, 1])
  expect(numbers(rows.dueRows(queue, { storeMs: 70, lockMs: 0 }, 1))).toEqual([3])
  expect(rows.look(queue)).toEqual({
    entity: queue,
    hasReady: false,
    lockEndMs: 20,
    scheduledMs: 20,
    expiresMs: undefined,
  })
  expect(rows.count(queue, 0)).toMatchObject({ active: 2, locked: 3, deferred: 1, scheduled: 2 })
})

test('a session is offered until it is held, and not what expired with it', () => {
  rows.insert([
    message(1, { session: 'a' }),
    message(2, { session: 'b', expiresMs: 10 }),
    message(3, { session: 'a' }),
    message(4, { session: 'c' }),
  ])
  const hold = rows.holdSession(queue, 'a')
  rows.changeSession({ ...hold, lock: LOCK, lockedUntilMs: 100 })
  expect(rows.nextSession(queue, '', 99)?.session).toBe('b')
  expect(rows.nextSession(queue, '', 100)?.session).toBe('a')
  expect(rows.expiredSessions(queue, 10, 5)).toEqual(['b'])
  rows.changeSession({ ...rows.holdSession(queue, 'b'), expiredThrough: 2 })
  expect(rows.expiredSessions(queue, 10, 5)).toEqual([])
  expect(rows.nextSession(queue, '', 99)?.session).toBe('c')
  expect(rows.readPlace(queue)).toMatchObject({ dueMs: 0, expiresMs: 10 })
  expect(rows.listSessions(queue, 'a', 9).map(({ session }) => session)).toEqual(['b', 'c'])
  expect(numbers(take({ session: 'a', afterNumber: 1, dueMs: undefined }))).toEqual([3])
  const locked = { entity: queue, session: 'a', which: 'locked', lock: LOCK, max: 9 } as const
  expect(numbers(rows.sessionRows(locked))).toEqual([3])
  expect(rows.endedSessions(queue, 100, 9)).toMatchObject([{ session: 'a' }])
})

test('sessions of messages and those with a state are listed in one order, each once', () => {
  const names = ['a', '\uFFFDa', '\u{1F600}b', '\u{1F600}c']
  rows.insert([message(1, { session: names[1] }), message(2, { session: names[3] })])
  for (const name of [names[0], names[2]]) {
    const state = { state: new Uint8Array(1), updatedMs: 5 }
    rows.changeSession({ ...rows.holdSession(queue, name ?? ''), ...state })
  }
  const listed = names.map((session, at) => ({ session, stateMs: at % 2 === 0 ? 5 : undefined }))
  expect(rows.listSessions(queue, '', 9)).toEqual(listed)
  expect(rows.listSessions(queue, names[0] ?? '', 2)).toEqual(listed.slice(1, 3))
})

test('an id is given once within its window', () => {
  const claim = (ids: string[], storeMs: number) =>
    rows.claimIds({ entity: queue, ids, untilMs: storeMs + 10, storeMs })
  expect(claim(['a', 'b', 'a'], 0)).toEqual(['a', 'b'])
  expect(claim(['b', 'c'], 9)).toEqual(['c'])
  expect(claim(['b'], 10)).toEqual(['b'])
})

test('a dropped entity leaves its path at once and its rows piece by piece', () => {
  const dead = rows.createEntities(
    [{ kind: 'deadLetter', path: 'Orders/$DeadLetterQueue', settings, rules: [], parent: queue }],
    TIME,
  )
  rows.insert([1, 2, 3].map((n) => message(n)))
  expect(rows.findEntity('ORDERS')?.number).toBe(queue)
  rows.dropEntities([queue])
  expect(rows.findEntity('orders')).toBeUndefined()
  expect(dead).toMatchObject([{ number: queue + 1, parent: queue }])
  expect(rows.readPlace(queue + 1)).toBeUndefined()
  expect(rows.purge(2)).toBe(true)
  expect(rows.purge(9)).toBe(false)
  expect(rows.rowsById([1, 2, 3])).toEqual([])
})

test('a definition comes back complete, and its version rises', () => {
  const changed = { settings: { ...settings, forwardTo: 'News' }, rules: [] }
  expect(rows.changeEntity(queue, changed, 2000)).toEqual({
    ...changed,
    number: queue,
    kind: 'queue',
    path: 'Orders',
    parent: undefined,
    version: 2,
    createdMs: 1000,
    updatedMs: 2000,
    accessedMs: 500,
  })
  expect(rows.isForwardedTo('NEWS')).toBe(true)
  expect(rows.isForwardedTo('orders')).toBe(false)
})
