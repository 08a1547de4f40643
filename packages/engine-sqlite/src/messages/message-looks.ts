import type { EntityCounts, EntityLook, SessionLook, SessionRow } from '@tidemark/store/messages'
import { numberColumn, numberIfAny, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SESSION_COLUMNS, sessionRow } from './message-columns.ts'

/*
 * What waits, read from the first entries of indexes. Both a procedure and a reader look.
 */

const READY = 'state = 0 AND lock IS NULL'

const LOOK = `SELECT
  EXISTS (SELECT 1 FROM message INDEXED BY message_ready
    WHERE entity = e.number AND ${READY} AND session IS NULL),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 0 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 1 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT until FROM session INDEXED BY session_until
   WHERE entity = e.number AND lock IS NOT NULL ORDER BY until LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 2 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT expires FROM message INDEXED BY message_expiry
   WHERE entity = e.number AND ${READY} AND expires IS NOT NULL ORDER BY expires LIMIT 1)
  FROM entity e WHERE e.number = ? AND e.key IS NOT NULL`

const LOOK_SESSION = `SELECT
  EXISTS (SELECT 1 FROM message INDEXED BY message_ready_in_session
    WHERE entity = ? AND session = ? AND ${READY} AND session IS NOT NULL),
  (SELECT expires FROM message INDEXED BY message_expiry_in_session
   WHERE entity = ? AND session = ? AND ${READY} AND session IS NOT NULL AND expires IS NOT NULL
   ORDER BY expires LIMIT 1)`

/** The next session with ready messages, and its row if it has one. Steps over sessions, not over messages. */
const NEXT_READY_SESSION = `SELECT m.session, s.lock, s.until, s.through, m.number
  FROM message m INDEXED BY message_ready_in_session
  LEFT JOIN session s INDEXED BY session_name ON s.entity = m.entity AND s.session = m.session
  WHERE m.entity = ? AND m.session > ? AND m.state = 0 AND m.lock IS NULL AND m.session IS NOT NULL
  ORDER BY m.session, m.number LIMIT 1`
const HAS_READY_ABOVE = `SELECT 1 FROM message INDEXED BY message_ready_in_session
  WHERE entity = ? AND session = ? AND number > ? AND ${READY} AND session IS NOT NULL LIMIT 1`
const SESSION = `SELECT ${SESSION_COLUMNS} FROM session WHERE entity = ? AND session = ?`

const COUNTS = `SELECT
  (SELECT count(*) FROM message INDEXED BY message_number WHERE entity = e.number),
  (SELECT count(*) FROM message INDEXED BY message_ready
   WHERE entity = e.number AND ${READY} AND session IS NULL),
  (SELECT count(*) FROM message INDEXED BY message_ready_in_session
   WHERE entity = e.number AND ${READY} AND session IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 0 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 1 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_locked_in_session
   WHERE entity = e.number AND session IS NOT NULL AND lock IS NOT NULL AND due IS NULL),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 2 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_expiry
   WHERE entity = e.number AND ${READY} AND expires IS NOT NULL AND expires <= ?),
  e.bytes,
  (SELECT enqueued FROM message INDEXED BY message_number
   WHERE entity = e.number AND state <> 2 ORDER BY number LIMIT 1)
  FROM entity e WHERE e.number = ?`

const NOTHING = {
  hasReady: false,
  lockEndMs: undefined,
  scheduledMs: undefined,
  expiresMs: undefined,
} as const

/** Undefined for an entity that is gone. */
export function lookAt(connection: Connection, entity: number): EntityLook | undefined {
  const row = connection.get(LOOK, entity)
  if (row === undefined) return undefined
  const ends = [1, 2, 3].map((index) => numberIfAny(row, index) ?? Infinity)
  const lockEndMs = Math.min(...ends)
  return {
    ...NOTHING,
    entity,
    hasReady:
      numberColumn(row, 0) === 1 ||
      freeSession(connection, { entity, after: '', lockMs: 0 }) !== undefined,
    lockEndMs: lockEndMs === Infinity ? undefined : lockEndMs,
    scheduledMs: numberIfAny(row, 4),
    expiresMs: numberIfAny(row, 5),
  }
}

export function lookAtSessions(
  connection: Connection,
  entity: number,
  sessions: readonly string[],
): readonly SessionLook[] {
  return sessions.flatMap((session) => {
    const row = connection.get(LOOK_SESSION, entity, session, entity, session) ?? []
    if (numberColumn(row, 0) === 0) return []
    return [{ session, hasReady: true, expiresMs: numberIfAny(row, 1) }]
  })
}

/** The first session after `after` that nobody holds at `lockMs`, with a ready message that has not expired with it. */
export function freeSession(
  connection: Connection,
  request: { readonly entity: number; readonly after: string; readonly lockMs: number },
): string | undefined {
  const { entity, lockMs } = request
  let { after } = request
  for (;;) {
    const row = connection.get(NEXT_READY_SESSION, entity, after)
    if (row === undefined) return undefined
    const session = textColumn(row, 0)
    const isHeld = row[1] !== null && numberColumn(row, 2) > lockMs
    const through = numberIfAny(row, 3) ?? 0
    if (!isHeld) {
      if (numberColumn(row, 4) > through) return session
      if (connection.get(HAS_READY_ABOVE, entity, session, through) !== undefined) return session
    }
    after = session
  }
}

export function readSession(
  connection: Connection,
  entity: number,
  session: string,
): SessionRow | undefined {
  const row = connection.get(SESSION, entity, session)
  return row && sessionRow(row)
}

export function countMessages(
  connection: Connection,
  entity: number,
  storeMs: number,
): EntityCounts {
  const row = connection.get(COUNTS, storeMs, entity) ?? []
  const [
    all = 0,
    plain = 0,
    inSessions = 0,
    lockedActive = 0,
    lockedDeferred = 0,
    lockedInSessions = 0,
    scheduled = 0,
    expired = 0,
    bytes = 0,
  ] = Array.from({ length: 9 }, (_, index) => numberColumn(row, index))
  const active = plain + inSessions
  const locked = lockedActive + lockedDeferred + lockedInSessions
  return {
    active,
    locked,
    deferred: all - active - locked - scheduled,
    scheduled,
    expired,
    bytes,
    oldestEnqueuedMs: numberIfAny(row, 9),
  }
}
