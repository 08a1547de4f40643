import type { AsyncRowRequests, SessionLook } from '@tidemark/store/messages'
import { integerArray, textArray } from '../connection/binary-array.ts'
import { booleanColumn, nullableNumberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import { SESSION_COLUMNS, sessionRow } from './message-columns.ts'
import type { MessageSql } from './message-sql.ts'

const HOLD = `SELECT ${SESSION_COLUMNS} FROM :schema.hold_session($1, $2) s`
const NEXT = `SELECT ${SESSION_COLUMNS} FROM :schema.next_session($1, $2, $3) s`
const ENDED = `SELECT ${SESSION_COLUMNS} FROM :schema.message_session s
WHERE s.entity = $1 AND s.lock IS NOT NULL AND s.until <= $2 ORDER BY s.until, s.session LIMIT $3
FOR UPDATE SKIP LOCKED`
const EXPIRING = `SELECT ${SESSION_COLUMNS} FROM :schema.message_session s
WHERE s.entity = $1 AND s.expired_through > 0 ORDER BY s.session LIMIT $2 FOR UPDATE SKIP LOCKED`
const CHANGE = `INSERT INTO :schema.message_session(entity, session, lock, until, state, expired_through, updated)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (entity, session) DO UPDATE SET lock = excluded.lock,
  until = excluded.until, state = excluded.state, expired_through = excluded.expired_through, updated = excluded.updated`
const REMOVE = 'DELETE FROM :schema.message_session WHERE entity = $1 AND session = $2'
const EXPIRED = `SELECT DISTINCT x.session FROM (
  SELECT m.session FROM :schema.message m
  WHERE m.expiring = $1 AND m.expires <= $2 AND m.session IS NOT NULL AND m.number > coalesce(
    (SELECT s.expired_through FROM :schema.message_session s WHERE s.entity = $1 AND s.session = m.session), 0)
  ORDER BY m.expires, m.number LIMIT $3) x
ORDER BY x.session`
const OF_MESSAGES = `SELECT DISTINCT m.session FROM :schema.message m
WHERE m.id = ANY($1::bigint[]) AND m.session IS NOT NULL ORDER BY m.session`
const LIST = `SELECT l.session, s.updated FROM :schema.list_sessions($1, $2, $3) l(session)
LEFT JOIN :schema.message_session s ON s.entity = $1 AND s.session = l.session AND s.state IS NOT NULL
ORDER BY l.session COLLATE "C"`
export const LOOK_SESSIONS = 'SELECT session, has_ready, expires FROM :schema.look_sessions($1, $2)'

type SessionRequests = Pick<
  AsyncRowRequests,
  | 'holdSession'
  | 'nextSession'
  | 'endedSessions'
  | 'expiringSessions'
  | 'expiredSessions'
  | 'sessionsOf'
  | 'changeSession'
  | 'listSessions'
  | 'lookSessions'
>

/** The requests of `RowRequests` for sessions. */
export function sessionRequests(sql: MessageSql): SessionRequests {
  return {
    async holdSession(entity, session) {
      const [row = []] = await sql.rows(HOLD, [entity, session])
      return sessionRow(row)
    },
    async nextSession(entity, after, lockMs) {
      const [row] = await sql.rows(NEXT, [entity, after, lockMs])
      return row && sessionRow(row)
    },
    async endedSessions(entity, lockMs, max) {
      return (await sql.rows(ENDED, [entity, lockMs, max])).map(sessionRow)
    },
    async expiringSessions(entity, max) {
      return (await sql.rows(EXPIRING, [entity, max])).map(sessionRow)
    },
    async expiredSessions(entity, storeMs, max) {
      return names(await sql.rows(EXPIRED, [entity, storeMs, max]))
    },
    async sessionsOf(ids) {
      return names(await sql.rows(OF_MESSAGES, [integerArray(ids)]))
    },
    async changeSession({
      entity,
      session,
      lock,
      lockedUntilMs,
      state,
      expiredThrough,
      updatedMs,
    }) {
      if (lock === undefined && state === undefined && expiredThrough === 0) {
        await sql.rows(REMOVE, [entity, session])
        return
      }
      const rest = [lock ?? null, lockedUntilMs, state ?? null, expiredThrough, updatedMs]
      await sql.rows(CHANGE, [entity, session, ...rest])
    },
    async listSessions(entity, after, max) {
      const rows = await sql.rows(LIST, [entity, after, max])
      return rows.map((row) => ({
        session: textColumn(row, 0),
        stateMs: nullableNumberColumn(row, 1) ?? undefined,
      }))
    },
    async lookSessions(entity, sessions) {
      return (await sql.rows(LOOK_SESSIONS, [entity, textArray(sessions)])).map(sessionLook)
    },
  }
}

function names(rows: readonly SqlRow[]): readonly string[] {
  return rows.map((row) => textColumn(row, 0))
}

/** From `LOOK_SESSIONS`. */
export function sessionLook(row: SqlRow): SessionLook {
  return {
    session: textColumn(row, 0),
    hasReady: booleanColumn(row, 1),
    expiresMs: nullableNumberColumn(row, 2) ?? undefined,
  }
}
