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
const DELETE = 'DELETE FROM :schema.message m USING kept k WHERE m.id = k.id RETURNING m.*'
const DELETE_BODIES =
  'DELETE FROM :schema.message_body b USING kept k WHERE b.id = k.id RETURNING b.id, b.head, b.body'

const READ = 'SELECT m.* FROM kept k JOIN :schema.message m ON m.id = k.id'

const READING = {
  any: statement({ from: 'm.ready = $1', locks: '' }, READ),
  inSession: statement({ from: 'm.waiting = $1 AND m.session = $6', locks: '' }, READ),
}
const LOCKING = {
  any: statement({ from: 'm.ready = $1', locks: 'FOR UPDATE SKIP LOCKED' }, LOCK),
  inSession: statement({ from: 'm.waiting = $1 AND m.session = $8', locks: 'FOR UPDATE' }, LOCK),
}
const DELETING = {
  any: statement({ from: 'm.ready = $1', locks: 'FOR UPDATE SKIP LOCKED' }, DELETE, DELETE_BODIES),
  inSession: statement(
    { from: 'm.waiting = $1 AND m.session = $6', locks: 'FOR UPDATE' },
    DELETE,
    DELETE_BODIES,
  ),
}

function statement(
  { from, locks }: { readonly from: string; readonly locks: string },
  act: string,
  bodies = 'SELECT k.id, b.head, b.body FROM kept k JOIN :schema.message_body b ON b.id = k.id',
): string {
  return `WITH picked AS MATERIALIZED (
  SELECT m.id, m.number, m.bytes FROM :schema.message m
  WHERE ${from} AND m.number > $2 AND ($3::bigint IS NULL OR m.expires IS NULL OR m.expires > $3)
  ORDER BY m.number LIMIT $4 ${locks}
), kept AS MATERIALIZED (
  SELECT p.id, p.place FROM (SELECT id, row_number() OVER w AS place, sum(bytes) OVER w AS upto FROM picked
    WINDOW w AS (ORDER BY number)) p
  WHERE p.place = 1 OR p.upto <= $5
), taken AS (${act}), bodies AS (${bodies})
SELECT ${MESSAGE_COLUMNS} FROM taken m JOIN bodies b ON b.id = m.id ORDER BY m.number`
}
