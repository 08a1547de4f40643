import { StoreDamagedError } from '@tidemark/contracts'
import type {
  MessageRow,
  MessageState,
  NewMessageRow,
  SessionRow,
  StoredMessage,
} from '@tidemark/store/messages'
import { bytesArray, integerArray, textArray } from '../connection/binary-array.ts'
import {
  nullableNumberColumn,
  nullableTextColumn,
  numberColumn,
  textColumn,
} from '../connection/columns.ts'
import type { SqlRow, SqlValue } from '../connection/sql.ts'

const NAMES = [
  'id',
  'entity',
  'number',
  'state',
  'session',
  'enqueued',
  'ttl',
  'expires',
  'due',
  'lock',
  'deliveries',
  'first',
  'hops',
  'source',
  'changes',
  'bytes',
] as const

/** Columns of the table `message`, here `m`, that `messageRow` reads. */
export const ROW_COLUMNS: string = NAMES.map((name) => `m.${name}`).join(', ')

/** With those of its body, here `b`. As hexadecimal digits, whatever the server's `bytea_output`. */
export const MESSAGE_COLUMNS: string = `${ROW_COLUMNS}, b.head, encode(b.body, 'hex')`

/** Names of the columns that `rowValues` gives, without and with the id. */
export const VALUE_NAMES: string = NAMES.slice(1).join(', ')
export const ROW_NAMES: string = NAMES.join(', ')

/** Their parameters as lists, from `$first` on: `u(id, …)`. */
export function rowLists(first: number): string {
  return listsOf(['bigint', ...VALUE_TYPES], first)
}

export function valueLists(first: number): string {
  return listsOf(VALUE_TYPES, first)
}

const VALUE_TYPES = [
  'integer',
  'bigint',
  'smallint',
  'text',
  'bigint',
  'bigint',
  'bigint',
  'bigint',
  'text',
  'integer',
  'bigint',
  'smallint',
  'text',
  'text',
  'integer',
] as const

function listsOf(types: readonly string[], first: number): string {
  return types.map((type, index) => `$${first + index}::${type}[]`).join(', ')
}

export function messageRow(row: SqlRow): MessageRow {
  return {
    id: numberColumn(row, 0),
    entity: numberColumn(row, 1),
    number: numberColumn(row, 2),
    state: stateColumn(row, 3),
    session: nullableTextColumn(row, 4) ?? undefined,
    enqueuedMs: numberColumn(row, 5),
    ttlMs: nullableNumberColumn(row, 6) ?? undefined,
    expiresMs: nullableNumberColumn(row, 7) ?? undefined,
    dueMs: nullableNumberColumn(row, 8) ?? undefined,
    lock: nullableTextColumn(row, 9) ?? undefined,
    deliveries: numberColumn(row, 10),
    firstNumber: numberColumn(row, 11),
    hops: numberColumn(row, 12),
    deadLetterSource: nullableTextColumn(row, 13) ?? undefined,
    changes: nullableTextColumn(row, 14) ?? undefined,
    bytes: numberColumn(row, 15),
  }
}

/** From `MESSAGE_COLUMNS`. */
export function storedMessage(row: SqlRow): StoredMessage {
  return { ...messageRow(row), head: textColumn(row, 16), body: bytesColumn(row, 17) }
}

/** Lists in the order of `VALUE_NAMES`. */
export function valuesOf(rows: readonly Omit<MessageRow, 'id'>[]): readonly SqlValue[] {
  const integers = (value: (row: Omit<MessageRow, 'id'>) => number | undefined): string =>
    integerArray(rows.map((row) => value(row) ?? null))
  const texts = (value: (row: Omit<MessageRow, 'id'>) => string | undefined): Buffer =>
    textArray(rows.map((row) => value(row) ?? null))
  return [
    integers(({ entity }) => entity),
    integers(({ number }) => number),
    integers(({ state }) => state),
    texts(({ session }) => session),
    integers(({ enqueuedMs }) => enqueuedMs),
    integers(({ ttlMs }) => ttlMs),
    integers(({ expiresMs }) => expiresMs),
    integers(({ dueMs }) => dueMs),
    texts(({ lock }) => lock),
    integers(({ deliveries }) => deliveries),
    integers(({ firstNumber }) => firstNumber),
    integers(({ hops }) => hops),
    texts(({ deadLetterSource }) => deadLetterSource),
    texts(({ changes }) => changes),
    integers(({ bytes }) => bytes),
  ]
}

/** Lists of heads and bodies. */
export function bodiesOf(rows: readonly NewMessageRow[]): readonly SqlValue[] {
  return [textArray(rows.map(({ head }) => head)), bytesArray(rows.map(({ body }) => body))]
}

/** Columns of the table `message_session`, here `s`, that `sessionRow` reads. */
export const SESSION_COLUMNS =
  "s.entity, s.session, s.lock, s.until, encode(s.state, 'hex'), s.expired_through, s.updated"

export function sessionRow(row: SqlRow): SessionRow {
  return {
    entity: numberColumn(row, 0),
    session: textColumn(row, 1),
    lock: nullableTextColumn(row, 2) ?? undefined,
    lockedUntilMs: numberColumn(row, 3),
    state: row[4] === null ? undefined : bytesColumn(row, 4),
    expiredThrough: numberColumn(row, 5),
    updatedMs: numberColumn(row, 6),
  }
}

function bytesColumn(row: SqlRow, index: number): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(textColumn(row, index), 'hex')
  // A plain one, as every engine gives.
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function stateColumn(row: SqlRow, index: number): MessageState {
  const state = numberColumn(row, index)
  if (state === 0 || state === 1 || state === 2) return state
  throw new StoreDamagedError(`a message has the state ${state}`)
}
