import {
  ACTIVE,
  DEFERRED,
  SCHEDULED,
  type MessageRow,
  type MessageState,
  type NewMessageRow,
  type SessionRow,
  type StoredMessage,
} from '@tidemark/store/messages'
import type { SQLInputValue } from 'node:sqlite'
import {
  bytesIfAny,
  numberColumn,
  numberIfAny,
  textColumn,
  textIfAny,
  type Row,
} from '../connection/column.ts'

/** Of table `message`, in the order of `messageRow`. */
export const MESSAGE_COLUMNS =
  'id, entity, number, state, session, enqueued, ttl, expires, due, lock, deliveries, first, hops, source, changes, bytes'

/** Of table `session`, in the order of `sessionRow`. */
export const SESSION_COLUMNS = 'entity, session, lock, until, state, through, updated'

const NO_BYTES = new Uint8Array(0)

export function messageRow(row: Row): MessageRow {
  return {
    id: numberColumn(row, 0),
    entity: numberColumn(row, 1),
    number: numberColumn(row, 2),
    state: messageState(numberColumn(row, 3)),
    session: textIfAny(row, 4),
    enqueuedMs: numberColumn(row, 5),
    ttlMs: numberIfAny(row, 6),
    expiresMs: numberIfAny(row, 7),
    dueMs: numberIfAny(row, 8),
    lock: textIfAny(row, 9),
    deliveries: numberColumn(row, 10),
    firstNumber: numberColumn(row, 11),
    hops: numberColumn(row, 12),
    deadLetterSource: textIfAny(row, 13),
    changes: textIfAny(row, 14),
    bytes: numberColumn(row, 15),
  }
}

/** With a row of `head, body`. */
export function withBody(message: MessageRow, row: Row): StoredMessage {
  return { ...message, head: textColumn(row, 0), body: bytesIfAny(row, 1) ?? NO_BYTES }
}

/** In the order of MESSAGE_COLUMNS, without the id. */
export function messageValues(message: MessageRow | NewMessageRow): SQLInputValue[] {
  return [
    message.entity,
    message.number,
    message.state,
    message.session ?? null,
    message.enqueuedMs,
    message.ttlMs ?? null,
    message.expiresMs ?? null,
    message.dueMs ?? null,
    message.lock ?? null,
    message.deliveries,
    message.firstNumber,
    message.hops,
    message.deadLetterSource ?? null,
    message.changes ?? null,
    message.bytes,
  ]
}

export function sessionRow(row: Row): SessionRow {
  return {
    entity: numberColumn(row, 0),
    session: textColumn(row, 1),
    lock: textIfAny(row, 2),
    lockedUntilMs: numberColumn(row, 3),
    state: bytesIfAny(row, 4),
    expiredThrough: numberColumn(row, 5),
    updatedMs: numberColumn(row, 6),
  }
}

function messageState(value: number): MessageState {
  return value === DEFERRED ? DEFERRED : value === SCHEDULED ? SCHEDULED : ACTIVE
}
