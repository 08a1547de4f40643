import { ResourceNotFoundError, StoreDamagedError } from '@tidemark/contracts'
import {
  parseDefinition,
  type AsyncRowRequests,
  type EntityDefinition,
  type EntityKind,
  type EntityPlace,
  type EntityRecord,
} from '@tidemark/store/messages'
import { integerArray, textArray } from '../connection/binary-array.ts'
import {
  booleanColumn,
  nullableNumberColumn,
  numberColumn,
  textColumn,
} from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import { EPOCH_JUMP } from '../schema/epoch-jump.ts'
import { nextNumber } from '../schema/next-number.ts'
import { LOOK_FOR_DUE, type DueStart } from './entity-hints.ts'
import type { MessageSql } from './message-sql.ts'

/** Of the tables `entity`, here `e`, and `entity_access`, here `a`. */
export const ENTITY_COLUMNS =
  'e.number, e.kind, e.path, e.parent, e.version, e.definition, e.created, e.updated, a.accessed'

const FROM_ENTITY = ':schema.entity e JOIN :schema.entity_access a ON a.number = e.number'

/**
 * The counter's row is locked first, so that the others are the newest ones then. Those who stamp activity do not wait
 * for the last lock, nor it for them.
 */
const HELD = 'FOR NO KEY UPDATE OF c, e FOR KEY SHARE OF a'

const PLACE_COLUMNS = `${ENTITY_COLUMNS}, c.next, coalesce(k.store_ms, 0), coalesce(k.lock_ms, 0),
  CASE WHEN EXISTS (SELECT 1 FROM :schema.message_session s WHERE s.entity = c.number AND s.expired_through > 0)
    THEN 0 ELSE least(
      (SELECT m.due FROM :schema.message m WHERE m.scheduled = c.number ORDER BY m.due LIMIT 1),
      (SELECT s.until FROM :schema.message_session s WHERE s.entity = c.number AND s.lock IS NOT NULL
        ORDER BY s.until LIMIT 1)) END,
  (SELECT m.expires FROM :schema.message m WHERE m.expiring = c.number ORDER BY m.expires LIMIT 1),
  CASE WHEN e.version = $4 AND $5 = 1 THEN $3 ELSE (
    SELECT m.due FROM :schema.message m
    WHERE m.locked = c.number AND m.due >= CASE WHEN e.version = $4 THEN $3::bigint ELSE 0 END
    ORDER BY m.due LIMIT 1) END`
/** `$3` to `$5` of a place: what is known of ends of locks. */
export function dueValues({ fromMs, version, isKnown }: DueStart): readonly number[] {
  return [fromMs, version, isKnown ? 1 : 0]
}

/**
 * Senders compare the size with its limit. A fail-over may have lost messages whose numbers somebody has seen: the next
 * ones are far above them.
 */
const HELD_COLUMNS = `${PLACE_COLUMNS},
  (SELECT coalesce(sum(z.bytes), 0) FROM :schema.entity_size z WHERE z.entity = c.number),
  CASE WHEN c.timeline = :timeline THEN 0 ELSE ${EPOCH_JUMP} END`
export const PLACE: string = `${selectPlace(PLACE_COLUMNS)} WHERE c.number = $1 AND e.db = $2`
export const PLACE_HELD: string = `${selectPlace(HELD_COLUMNS)} WHERE c.number = $1 AND e.db = $2 ${HELD}`
const PLACES = `${selectPlace(HELD_COLUMNS)} WHERE c.number = ANY($1::integer[]) AND e.db = $2 ORDER BY c.number ${HELD}`
const CLOCK = 'SELECT store_ms, lock_ms FROM :schema.message_clock WHERE db = $1'

const FIND = `SELECT ${ENTITY_COLUMNS} FROM ${FROM_ENTITY} WHERE e.db = $1 AND e.path_key = $2 AND NOT e.dropped`
const CHILDREN = `SELECT ${ENTITY_COLUMNS} FROM ${FROM_ENTITY} WHERE e.parent = $1 AND NOT e.dropped ORDER BY e.number`

/** Keeps the database: who deletes it waits, and drops these too. */
const NUMBERS = `SELECT ${nextNumber('entity_number')} FROM generate_series(1, $1)
CROSS JOIN (SELECT number FROM :schema.database WHERE number = $2 FOR KEY SHARE) d`
const INSERT = `WITH made AS (
  INSERT INTO :schema.entity(db, number, kind, path, path_key, parent, version, definition, forwards, created, updated)
  SELECT $1, u.number, u.kind, u.path, u.path_key, u.parent, 1, u.definition,
    array_remove(ARRAY[u.forward, u.forward_dead], NULL), $2, $2
  FROM unnest($3::integer[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $10::text[], $11::text[])
    AS u(number, kind, path, path_key, parent, definition, forward, forward_dead) ORDER BY u.number
  ON CONFLICT (db, path_key) WHERE NOT dropped DO NOTHING RETURNING number
), counted AS (
  INSERT INTO :schema.entity_counter(number, next, timeline) SELECT m.number, 1, :timeline FROM made m
), stamped AS (
  INSERT INTO :schema.entity_access(number, accessed) SELECT m.number, $9 FROM made m
), clocked AS (
  INSERT INTO :schema.message_clock(db, store_ms, lock_ms) VALUES ($1, $2, $9) ON CONFLICT DO NOTHING
) SELECT number FROM made`
const UNDO = `WITH gone AS (DELETE FROM :schema.entity WHERE number = ANY($1::integer[])),
stamps AS (DELETE FROM :schema.entity_access WHERE number = ANY($1::integer[]))
DELETE FROM :schema.entity_counter WHERE number = ANY($1::integer[])`

const LOCK = `SELECT number FROM :schema.entity_counter WHERE number = ANY($1::integer[]) ORDER BY number FOR UPDATE`
const CHANGE = `UPDATE :schema.entity e SET definition = $2, version = e.version + 1, updated = greatest(e.updated, $3),
  forwards = array_remove(ARRAY[$4::text, $5::text], NULL)
FROM :schema.entity_access a WHERE a.number = e.number AND e.number = $1 RETURNING ${ENTITY_COLUMNS}`
const RAISE = `UPDATE :schema.entity SET version = version + 1 WHERE number = $1`
const DROP = `WITH counters AS (DELETE FROM :schema.entity_counter WHERE number = ANY($1::integer[])),
stamps AS (DELETE FROM :schema.entity_access WHERE number = ANY($1::integer[]))
UPDATE :schema.entity SET dropped = true WHERE number = ANY($1::integer[])`
const FORWARDED =
  'SELECT EXISTS (SELECT 1 FROM :schema.entity e WHERE e.db = $1 AND NOT e.dropped AND $2 = ANY(e.forwards))'

const PURGE = 'SELECT :schema.purge_entities($1, $2)'

type EntityRequests = Pick<
  AsyncRowRequests,
  | 'readPlace'
  | 'holdPlaces'
  | 'setNext'
  | 'readClock'
  | 'storeClock'
  | 'touch'
  | 'createEntities'
  | 'findEntity'
  | 'changeEntity'
  | 'raiseVersion'
  | 'dropEntities'
  | 'isForwardedTo'
  | 'childrenOf'
  | 'purge'
>

/** The requests of `RowRequests` for entities and their counters. */
export function entityRequests(sql: MessageSql): EntityRequests {
  return {
    async readPlace(entity, { hold }) {
      const first = sql.firstPlace(entity, hold)
      if (first !== undefined) return first.row && entityPlace(first.row, sql, first.due)
      const due = sql.dueOf(entity)
      const values = [entity, sql.database, ...dueValues(due)]
      const [row] = await sql.rows(hold ? PLACE_HELD : PLACE, values)
      return row && entityPlace(row, sql, due)
    },
    async holdPlaces(entities) {
      const values = [integerArray(entities), sql.database, ...dueValues(LOOK_FOR_DUE)]
      const rows = await sql.rows(PLACES, values)
      return rows.map((row) => entityPlace(row, sql, LOOK_FOR_DUE))
    },
    async readClock() {
      const [row] = await sql.rows(CLOCK, [sql.database])
      if (row === undefined) return { storeMs: 0, lockMs: 0 }
      return { storeMs: numberColumn(row, 0), lockMs: numberColumn(row, 1) }
    },
    async setNext(entity, next) {
      sql.setNext(entity, next)
    },
    async storeClock(pair) {
      sql.storeClock(pair)
    },
    async touch(entity, lockMs) {
      sql.touch(entity, lockMs)
    },
    createEntities: (entities, time) => createEntities(sql, entities, time),
    async findEntity(path) {
      const [row] = await sql.rows(FIND, [sql.database, pathKey(path)])
      return row && entityRecord(row)
    },
    async changeEntity(entity, definition, storeMs) {
      await sql.rows(LOCK, [integerArray([entity])])
      const [row] = await sql.rows(CHANGE, [
        entity,
        definitionText(definition),
        storeMs,
        ...forwardKeys(definition),
      ])
      if (row === undefined)
        throw new StoreDamagedError(`entity ${entity} is gone while it is held`)
      return entityRecord(row)
    },
    async raiseVersion(entity) {
      await sql.rows(LOCK, [integerArray([entity])])
      await sql.rows(RAISE, [entity])
    },
    async dropEntities(numbers) {
      const list = integerArray(numbers)
      await sql.rows(LOCK, [list])
      await sql.rows(DROP, [list])
    },
    async isForwardedTo(path) {
      const [row = []] = await sql.rows(FORWARDED, [sql.database, pathKey(path)])
      return booleanColumn(row, 0)
    },
    async childrenOf(entity) {
      return (await sql.rows(CHILDREN, [entity])).map(entityRecord)
    },
    async purge(max) {
      const [row = []] = await sql.rows(PURGE, [sql.database, max])
      return booleanColumn(row, 0)
    },
  }
}

/** From `ENTITY_COLUMNS`. */
export function entityRecord(row: SqlRow): EntityRecord {
  const number = numberColumn(row, 0)
  return {
    number,
    kind: kindColumn(row, 1),
    path: textColumn(row, 2),
    parent: nullableNumberColumn(row, 3) ?? undefined,
    version: numberColumn(row, 4),
    ...parseDefinition(number, textColumn(row, 5)),
    createdMs: numberColumn(row, 6),
    updatedMs: numberColumn(row, 7),
    accessedMs: numberColumn(row, 8),
  }
}

function selectPlace(columns: string): string {
  return `SELECT ${columns}
FROM :schema.entity_counter c JOIN :schema.entity e ON e.number = c.number
JOIN :schema.entity_access a ON a.number = c.number LEFT JOIN :schema.message_clock k ON k.db = e.db`
}

function entityPlace(row: SqlRow, sql: MessageSql, start: DueStart): EntityPlace {
  const record = entityRecord(row)
  const isHeld = row.length > 15
  const jump = isHeld ? numberColumn(row, 16) : 0
  if (isHeld) sql.noteBytes(record.number, numberColumn(row, 15))
  const dues = [row[12] ?? null, row[14] ?? null].flatMap((text) =>
    text === null ? [] : [Number(text)],
  )
  const place = {
    record,
    next: sql.nextOf(record.number) ?? numberColumn(row, 9) + jump,
    clock: { storeMs: numberColumn(row, 10), lockMs: numberColumn(row, 11) },
    dueMs: dues.length === 0 ? undefined : Math.min(...dues),
    expiresMs: nullableNumberColumn(row, 13) ?? undefined,
  }
  sql.sawPlace(place, { start, firstMs: nullableNumberColumn(row, 14) ?? undefined })
  return place
}

async function createEntities(
  sql: MessageSql,
  ...[entities, time]: Parameters<AsyncRowRequests['createEntities']>
): Promise<readonly EntityRecord[] | { readonly exists: string }> {
  const rows = await sql.rows(NUMBERS, [entities.length, sql.database])
  if (rows.length < entities.length) {
    throw new ResourceNotFoundError('database', `number ${sql.database}`)
  }
  const numbers = rows.map((row) => numberColumn(row, 0)).toSorted((a, b) => a - b)
  const records = entities.map(({ path, kind, parent, settings, rules }, at): EntityRecord => {
    const owner = typeof parent === 'object' ? numbers[parent.at] : parent
    return {
      number: numbers[at] ?? 0,
      kind,
      path,
      parent: owner,
      settings,
      rules,
      version: 1,
      createdMs: time.storeMs,
      updatedMs: time.storeMs,
      accessedMs: time.lockMs,
    }
  })
  const made = await sql.rows(INSERT, [
    sql.database,
    time.storeMs,
    integerArray(numbers),
    textArray(records.map(({ kind }) => kind)),
    textArray(records.map(({ path }) => path)),
    textArray(records.map(({ path }) => pathKey(path))),
    integerArray(records.map(({ parent }) => parent ?? null)),
    textArray(records.map(definitionText)),
    time.lockMs,
    textArray(records.map((record) => forwardKeys(record)[0])),
    textArray(records.map((record) => forwardKeys(record)[1])),
  ])
  const present = new Set(made.map((row) => numberColumn(row, 0)))
  const taken = records.find(({ number }) => !present.has(number))
  if (taken === undefined) return records
  await sql.rows(UNDO, [integerArray([...present])])
  return { exists: taken.path }
}

function definitionText({ settings, rules }: EntityDefinition): string {
  return JSON.stringify({ settings, rules })
}

function forwardKeys({ settings }: EntityDefinition): readonly [string | null, string | null] {
  const { forwardTo, forwardDeadLettersTo } = settings
  return [keyOf(forwardTo), keyOf(forwardDeadLettersTo)]
}

function keyOf(path: string | undefined): string | null {
  return path === undefined ? null : pathKey(path)
}

function pathKey(path: string): string {
  return path.toLowerCase()
}

function kindColumn(row: SqlRow, index: number): EntityKind {
  const kind = textColumn(row, index)
  if (kind === 'queue' || kind === 'topic' || kind === 'subscription' || kind === 'deadLetter') {
    return kind
  }
  throw new StoreDamagedError(`an entity has the kind ${kind}`)
}
