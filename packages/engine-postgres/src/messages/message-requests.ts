import { ACTIVE, type AsyncRowRequests } from '@tidemark/store/messages'
import { integerArray, textArray } from '../connection/binary-array.ts'
import { numberColumn } from '../connection/columns.ts'
import {
  bodiesOf,
  MESSAGE_COLUMNS,
  messageRow,
  ROW_COLUMNS,
  ROW_NAMES,
  rowLists,
  storedMessage,
  VALUE_NAMES,
  valueLists,
  valuesOf,
} from './message-columns.ts'
import type { MessageSql } from './message-sql.ts'
import { takeMessages } from './take-messages.ts'

const INSERT = `WITH given AS (
  SELECT nextval(':schema.message_number') AS id, u.* FROM unnest($1::text[], $2::bytea[], ${valueLists(3)})
    AS u(head, body, ${VALUE_NAMES})
), bodies AS (
  INSERT INTO :schema.message_body(id, head, body) SELECT id, head, body FROM given
) INSERT INTO :schema.message(${ROW_NAMES}) SELECT ${ROW_NAMES} FROM given`
const CHANGE = `UPDATE :schema.message m SET (${VALUE_NAMES}) = (${prefixed('u', VALUE_NAMES)})
FROM unnest(${rowLists(1)}) AS u(${ROW_NAMES}) WHERE m.id = u.id`
export const BY_ID: string = `SELECT ${ROW_COLUMNS} FROM :schema.message m WHERE m.id = ANY($1::bigint[]) ORDER BY m.id FOR UPDATE`
const BY_NUMBER = `SELECT ${ROW_COLUMNS} FROM :schema.message m
WHERE m.entity = $1 AND m.number = ANY($2::bigint[]) ORDER BY m.id FOR UPDATE`
const WITH_BODY = `SELECT ${MESSAGE_COLUMNS} FROM unnest($1::bigint[]) WITH ORDINALITY AS u(id, place)
JOIN :schema.message m ON m.id = u.id JOIN :schema.message_body b ON b.id = u.id ORDER BY u.place`
const BYTES = 'SELECT coalesce(sum(z.bytes), 0) FROM :schema.entity_size z WHERE z.entity = $1'

/**
 * Places in the list, from 1. In the order of ids, so that two transactions with the same ones wait for each other and not
 * both.
 */
const CLAIM = `WITH given AS (
  SELECT u.id, min(u.place) AS place FROM unnest($2::text[]) WITH ORDINALITY AS u(id, place) GROUP BY u.id
), forgotten AS (
  DELETE FROM :schema.seen_message s USING (
    SELECT l.id FROM :schema.seen_message l
    WHERE l.entity = $1 AND l.until <= $4 AND l.id <> ALL($2::text[])
    ORDER BY l.until LIMIT 100 FOR UPDATE SKIP LOCKED) l
  WHERE s.entity = $1 AND s.id = l.id
), claimed AS (
  INSERT INTO :schema.seen_message AS s (entity, id, until)
  SELECT $1, g.id, $3 FROM given g ORDER BY g.id COLLATE "C"
  ON CONFLICT (entity, id) DO UPDATE SET until = excluded.until WHERE s.until <= $4 RETURNING s.id
) SELECT g.place FROM claimed c JOIN given g ON g.id = c.id COLLATE "C" ORDER BY g.place`

type MessageRequests = Pick<
  AsyncRowRequests,
  | 'insert'
  | 'take'
  | 'rowsById'
  | 'rowsByNumber'
  | 'messagesById'
  | 'change'
  | 'remove'
  | 'addBytes'
  | 'readBytes'
  | 'claimIds'
>

/** The requests of `RowRequests` for messages. */
export function messageRequests(sql: MessageSql): MessageRequests {
  return {
    async insert(rows) {
      if (rows.length > 0) await sql.rows(INSERT, [...bodiesOf(rows), ...valuesOf(rows)])
    },
    take: (request) => takeMessages(sql, request),
    async rowsById(ids) {
      if (ids.length === 0) return []
      const rows = sql.firstRows(ids) ?? (await sql.rows(BY_ID, [integerArray(ids)]))
      return rows.map(messageRow)
    },
    async rowsByNumber(entity, numbers) {
      if (numbers.length === 0) return []
      return (await sql.rows(BY_NUMBER, [entity, integerArray(numbers)])).map(messageRow)
    },
    async messagesById(ids) {
      if (ids.length === 0) return []
      return (await sql.rows(WITH_BODY, [integerArray(ids)])).map(storedMessage)
    },
    async change(rows) {
      if (rows.length === 0) return
      for (const { state, lock, session, entity, number } of rows) {
        const isReady = state === ACTIVE && lock === undefined && session === undefined
        if (isReady) sql.returns(entity, number)
      }
      await sql.rows(CHANGE, [integerArray(rows.map(({ id }) => id)), ...valuesOf(rows)])
    },
    async remove(ids) {
      sql.remove(ids)
    },
    async addBytes(entity, bytes) {
      sql.addBytes(entity, bytes)
    },
    async readBytes(entity) {
      const known = sql.knownBytes(entity)
      if (known !== undefined) return known + sql.bytesOf(entity)
      const [row = []] = await sql.rows(BYTES, [entity])
      return numberColumn(row, 0) + sql.bytesOf(entity)
    },
    async claimIds({ entity, ids, untilMs, storeMs }) {
      const rows = await sql.rows(CLAIM, [entity, textArray(ids), untilMs, storeMs])
      return rows.flatMap((row) => ids[numberColumn(row, 0) - 1] ?? [])
    },
  }
}

function prefixed(name: string, columns: string): string {
  return columns
    .split(', ')
    .map((column) => `${name}.${column}`)
    .join(', ')
}
