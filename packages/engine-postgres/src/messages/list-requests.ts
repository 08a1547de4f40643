import type { AsyncRowRequests, EntityCounts, EntityLook } from '@tidemark/store/messages'
import { integerArray } from '../connection/binary-array.ts'
import { booleanColumn, nullableNumberColumn, numberColumn } from '../connection/columns.ts'
import type { SqlRow, SqlValue } from '../connection/sql.ts'
import { LOOK_FOR_DUE, type DueStart, type ReadyStart } from './entity-hints.ts'
import { MESSAGE_COLUMNS, messageRow, ROW_COLUMNS, storedMessage } from './message-columns.ts'
import type { MessageSql } from './message-sql.ts'

const DUE = `WITH locked AS (
  SELECT ${ROW_COLUMNS} FROM :schema.message m WHERE m.locked = $1 AND m.due <= $2 AND m.due >= $5
  ORDER BY m.due, m.number LIMIT $4 FOR UPDATE SKIP LOCKED
), scheduled AS (
  SELECT ${ROW_COLUMNS} FROM :schema.message m WHERE m.scheduled = $1 AND m.due <= $3
  ORDER BY m.due, m.number LIMIT $4 FOR UPDATE SKIP LOCKED
) SELECT * FROM (SELECT * FROM locked UNION ALL SELECT * FROM scheduled) m ORDER BY m.due, m.number LIMIT $4`
const EXPIRED = `SELECT ${ROW_COLUMNS} FROM :schema.message m WHERE m.expiring = $1 AND m.expires <= $2
ORDER BY m.expires, m.number LIMIT $3 FOR UPDATE SKIP LOCKED`
const EXPIRED_IN_SESSION = `SELECT ${ROW_COLUMNS} FROM :schema.message m
WHERE m.expiring_session = $1 AND m.session = $4 AND m.expires <= $2
ORDER BY m.expires, m.number LIMIT $3 FOR UPDATE SKIP LOCKED`
const WAITING_IN_SESSION = `SELECT ${ROW_COLUMNS} FROM :schema.message m
WHERE m.waiting = $1 AND m.session = $2 AND m.number <= $3 ORDER BY m.number LIMIT $4 FOR UPDATE`
const LOCKED_IN_SESSION = `SELECT ${ROW_COLUMNS} FROM :schema.message m
WHERE m.entity = $1 AND m.session = $2 AND m.lock = $3 ORDER BY m.number LIMIT $4 FOR UPDATE`

const PEEK = peek('m.entity = $1 AND m.number >= $2')
const PEEK_SESSION = peek('m.entity = $1 AND m.session = $5 AND m.number >= $2')

export const LOOK_ENTITIES =
  'SELECT entity, has_ready, lock_end, scheduled, expires FROM :schema.look_entities($1, $2, $3, $4)'
const COUNT = `SELECT count(*) FILTER (WHERE m.state = 0), count(*) FILTER (WHERE m.lock IS NOT NULL),
  count(*) FILTER (WHERE m.state = 1), count(*) FILTER (WHERE m.state = 2),
  count(*) FILTER (WHERE m.state = 0 AND m.lock IS NULL AND m.expires <= $2),
  (SELECT coalesce(sum(z.bytes), 0) FROM :schema.entity_size z WHERE z.entity = $1),
  min(m.enqueued) FILTER (WHERE m.state <> 2)
FROM :schema.message m WHERE m.entity = $1`

type ListRequests = Pick<
  AsyncRowRequests,
  'dueRows' | 'expiredRows' | 'sessionRows' | 'peek' | 'look' | 'count'
>

/** The requests of `RowRequests` that find messages in lists, or count them. */
export function listRequests(sql: MessageSql): ListRequests {
  return {
    async dueRows(entity, { lockMs, storeMs }, max) {
      const { fromMs } = sql.dueOf(entity)
      return (await sql.rows(DUE, [entity, lockMs, storeMs, max, fromMs])).map(messageRow)
    },
    async expiredRows({ entity, session, storeMs, max }) {
      const values = [entity, storeMs, max]
      const rows =
        session === undefined
          ? await sql.rows(EXPIRED, values)
          : await sql.rows(EXPIRED_IN_SESSION, [...values, session])
      return rows.map(messageRow)
    },
    async sessionRows(request) {
      const { entity, session, max } = request
      const rows =
        request.which === 'waiting'
          ? await sql.rows(WAITING_IN_SESSION, [entity, session, request.through, max])
          : await sql.rows(LOCKED_IN_SESSION, [entity, session, request.lock, max])
      return rows.map(messageRow)
    },
    async peek({ entity, session, fromNumber, max, maxBytes }) {
      const values = [entity, fromNumber, max, maxBytes]
      const rows =
        session === undefined
          ? await sql.rows(PEEK, values)
          : await sql.rows(PEEK_SESSION, [...values, session])
      return rows.map(storedMessage)
    },
    async look(entity) {
      const [row] = await sql.rows(
        LOOK_ENTITIES,
        lookValues([entity], () => LOOK_FOR_ALL),
      )
      return row === undefined ? { ...NOTHING, entity } : entityLook(row)
    },
    async count(entity, storeMs) {
      const [row = []] = await sql.rows(COUNT, [entity, storeMs])
      const counts = entityCounts(row)
      return { ...counts, bytes: counts.bytes + sql.bytesOf(entity) }
    },
  }
}

const NOTHING = {
  hasReady: false,
  lockEndMs: undefined,
  scheduledMs: undefined,
  expiresMs: undefined,
} as const

const LOOK_FOR_ALL = { from: 0, ...LOOK_FOR_DUE }

/** Values of `LOOK_ENTITIES`. */
export function lookValues(
  entities: readonly number[],
  hintOf: (entity: number) => Pick<ReadyStart, 'from'> & Omit<DueStart, 'isKnown'>,
): readonly SqlValue[] {
  const hints = entities.map(hintOf)
  return [
    integerArray(entities),
    integerArray(hints.map(({ from }) => from)),
    integerArray(hints.map(({ fromMs }) => fromMs)),
    integerArray(hints.map(({ version }) => version)),
  ]
}

/** From `LOOK_ENTITIES`. */
export function entityLook(row: SqlRow): EntityLook {
  return {
    entity: numberColumn(row, 0),
    hasReady: booleanColumn(row, 1),
    lockEndMs: nullableNumberColumn(row, 2) ?? undefined,
    scheduledMs: nullableNumberColumn(row, 3) ?? undefined,
    expiresMs: nullableNumberColumn(row, 4) ?? undefined,
  }
}

function entityCounts(row: SqlRow): EntityCounts {
  return {
    active: numberColumn(row, 0),
    locked: numberColumn(row, 1),
    deferred: numberColumn(row, 2),
    scheduled: numberColumn(row, 3),
    expired: numberColumn(row, 4),
    bytes: numberColumn(row, 5),
    oldestEnqueuedMs: nullableNumberColumn(row, 6) ?? undefined,
  }
}

function peek(where: string): string {
  return `SELECT ${MESSAGE_COLUMNS} FROM (
  SELECT p.id, row_number() OVER w AS place, sum(p.bytes) OVER w AS upto FROM (
    SELECT m.id, m.number, m.bytes FROM :schema.message m WHERE ${where} ORDER BY m.number LIMIT $3) p
  WINDOW w AS (ORDER BY p.number)) p
JOIN :schema.message m ON m.id = p.id JOIN :schema.message_body b ON b.id = p.id WHERE p.place = 1 OR p.upto <= $4 ORDER BY m.number`
}
