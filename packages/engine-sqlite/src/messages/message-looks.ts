import type { EntityCounts, EntityLook, SessionLook, SessionRow } from '@tidemark/store/messages'
import { numberColumn, numberIfAny, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { sessionRow } from './message-columns.ts'
import {
  COUNTS,
  HAS_READY_ABOVE,
  LOOK,
  LOOK_SESSION,
  NEXT_READY_SESSION,
  SESSION,
} from './message-statements.ts'

/*
 * What waits, read from the first entries of indexes. Both a procedure and a reader look.
 */

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
      freeSession(connection, { entity, after: '', lockMs: -1 }) !== undefined,
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
    lockedActive = 0,
    lockedDeferred = 0,
    lockedInSessions = 0,
    deferred = 0,
    scheduled = 0,
    expired = 0,
    bytes = 0,
  ] = Array.from({ length: 8 }, (_, index) => numberColumn(row, index))
  const locked = lockedActive + lockedDeferred + lockedInSessions
  return {
    active: all - deferred - scheduled,
    locked,
    deferred,
    scheduled,
    expired,
    bytes,
    oldestEnqueuedMs: numberIfAny(row, 8),
  }
}
