import type { RowRequests, StoredMessage } from '@tidemark/store/messages'
import { textArray } from '../connection/binary-array.ts'
import type { SqlValue } from '../connection/sql.ts'
import { MESSAGE_COLUMNS, storedMessage } from './message-columns.ts'
import type { MessageSql } from './message-sql.ts'

type TakeRequest = Parameters<RowRequests['take']>[0]

/** See `RowRequests.take`. */
export async function takeMessages(
  sql: MessageSql,
  request: TakeRequest,
): Promise<readonly StoredMessage[]> {
  if (request.session !== undefined) return take(sql, request)
  const { entity, afterNumber } = request
  const start = sql.readyStart(entity)
  if (start.from > afterNumber + 1) {
    const rows = await take(sql, { ...request, afterNumber: start.from - 1 })
    if (rows.length > 0 || !sql.mustLookAgain(entity)) {
      sql.foundReady({ entity, start, from: rows[0]?.number ?? start.from, tookMs: undefined })
      return rows
    }
  }
  const beganMs = sql.monotonicMs()
  const rows = await take(sql, request)
  if (afterNumber === 0) {
    const tookMs = sql.monotonicMs() - beganMs
    sql.foundReady({ entity, start, from: rows[0]?.number, tookMs })
  }
  return rows
}

async function take(sql: MessageSql, request: TakeRequest): Promise<readonly StoredMessage[]> {
  const { entity, session, afterNumber, notExpiredAtMs, max, maxBytes, deletes } = request
  const values: SqlValue[] = [entity, afterNumber, notExpiredAtMs ?? null, max, maxBytes]
  const reads = !deletes && request.locks.length === 0
  if (!deletes && !reads) values.push(textArray(request.locks), request.dueMs ?? null)
  if (session !== undefined) values.push(session)
  const statements = deletes ? DELETING : reads ? READING : LOCKING
  const rows = await sql.rows(session === undefined ? statements.any : statements.inSession, values)
  return rows.map(storedMessage)
}

const LOCK = `UPDATE :schema.message m SET lock = ($6::text[])[LEAST(k.place, cardinality($6::text[]))::integer], due = $7
  FROM kept k WHERE m.id = k.id RETURNING m.*`
// The statement's snapshot still shows the bodies that it deletes.
const DELETE = `DELETE FROM :schema.message m USING kept k
  WHERE m.id = k.id AND EXISTS (SELECT 1 FROM :schema.message_body b WHERE b.id = k.id) RETURNING m.*
), bodies AS (DELETE FROM :schema.message_body b USING kept k WHERE b.id = k.id`
const READ = 'SELECT m.* FROM kept k JOIN :schema.message m ON m.id = k.id'

const READING = {
  any: statement('m.ready = $1', '', READ),
  inSession: statement('m.waiting = $1 AND m.session = $6', '', READ),
}
const LOCKING = {
  any: statement('m.ready = $1', 'FOR UPDATE SKIP LOCKED', LOCK),
  inSession: statement('m.waiting = $1 AND m.session = $8', 'FOR UPDATE', LOCK),
}
const DELETING = {
  any: statement('m.ready = $1', 'FOR UPDATE SKIP LOCKED', DELETE),
  inSession: statement('m.waiting = $1 AND m.session = $6', 'FOR UPDATE', DELETE),
}

/** All of them, for a test of their plans. */
export const TAKE_STATEMENTS: readonly string[] = [READING, LOCKING, DELETING].flatMap((one) => [
  one.any,
  one.inSession,
])

/** Bodies are joined by their key: two lists without an index would be compared row by row. */
function statement(where: string, locks: string, act: string): string {
  return `WITH picked AS MATERIALIZED (
  SELECT m.id, m.number, m.bytes FROM :schema.message m
  WHERE ${where} AND m.number > $2 AND ($3::bigint IS NULL OR m.expires IS NULL OR m.expires > $3)
  ORDER BY m.number LIMIT $4 ${locks}
), kept AS MATERIALIZED (
  SELECT p.id, p.place FROM (SELECT id, row_number() OVER w AS place, sum(bytes) OVER w AS upto FROM picked
    WINDOW w AS (ORDER BY number)) p
  WHERE p.place = 1 OR p.upto <= $5
), taken AS (${act})
SELECT ${MESSAGE_COLUMNS} FROM taken m JOIN :schema.message_body b ON b.id = m.id ORDER BY m.number`
}
