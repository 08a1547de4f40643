import {
  PreconditionFailedError,
  ResourceExistsError,
  ResourceNotFoundError,
  type FeedRange,
} from '@tidemark/contracts'
import {
  changedRecord,
  collectionRid,
  horizonsText,
  raiseHorizon,
  recordEtag,
  type CollectionDefinition,
  type CollectionRecord,
  type DatabaseRecord,
  type DefinitionChanges,
} from '@tidemark/store/engine'
import type { RangeRow } from '../catalog/collection-row.ts'
import { numberColumn } from '../connection/columns.ts'
import type { Sql } from '../connection/sql.ts'
import { storeTime, type ReadContext } from '../reader/read-context.ts'
import { nextNumber } from '../schema/next-number.ts'
import { NEXT_VERSION } from '../schema/next-version.ts'
import { lockCollection } from './lock-collection.ts'
import { nextPurgeStamp } from './purge-stamp.ts'
import { insertRange, lockSegments, newSegmentState } from './range-rows.ts'

const LOCK_DATABASE = `SELECT ${storeTime(2)} FROM :schema.database b WHERE b.number = $1 FOR UPDATE`
const IS_TAKEN = 'SELECT 1 FROM :schema.collection WHERE db = $1 AND id = $2'
const NEXT_NUMBER = `SELECT ${nextNumber('collection_number')}`
const INSERT = `INSERT INTO :schema.collection(
  number, db, id, rid, definition, default_ttl, log, eras, reindex, logged, etag, ts, version, has_unique)
VALUES ($1, $2, $3, $4, $5, $6, $7, '[]', NULL, $8, $9, $10, :server_now * 1000, $11)`
const UPDATE = `UPDATE :schema.collection SET definition = $2, default_ttl = $3, log = $4, eras = $5,
  reindex = $6, logged = $7, etag = $8, ts = $9, version = ${NEXT_VERSION} WHERE number = $1`
const RAISE_CLOCK = 'UPDATE :schema.database SET clock = greatest(clock, $2) WHERE number = $1'
const SET_LOG_HORIZON = 'UPDATE :schema.segment SET log_horizon = $2 WHERE id = $1'

/** Creates a collection. Rejects with ERR_EXISTS, and with ERR_NOT_FOUND when the database is gone. */
export async function insertCollection(
  context: ReadContext,
  database: DatabaseRecord & { readonly number: number },
  request: {
    readonly id: string
    readonly definition: CollectionDefinition
    readonly ranges: readonly FeedRange[]
  },
): Promise<CollectionRecord> {
  const { connections, statements, clock } = context
  const { id, definition, ranges } = request
  return connections.transaction(async (sql) => {
    const locked = [database.number, clock.atLeastMs()]
    const [row] = await sql.rows(statements.of(LOCK_DATABASE), locked)
    if (row === undefined) throw new ResourceNotFoundError('database', database.id)
    const taken = await sql.rows(statements.of(IS_TAKEN), [database.number, id])
    if (taken.length > 0) throw new ResourceExistsError('collection', id)
    const ts = Math.floor(numberColumn(row, 0) / 1000)
    const [numbered = []] = await sql.rows(statements.of(NEXT_NUMBER))
    const number = numberColumn(numbered, 0)
    const rid = collectionRid(database.rid, number)
    const etag = recordEtag(rid, ts)
    const record: CollectionRecord = { id, number, rid, definition, ttlEras: [], etag, ts }
    const log = logColumn(definition)
    await sql.rows(statements.of(INSERT), [
      number,
      database.number,
      id,
      rid,
      JSON.stringify(definition),
      definition.defaultTtl,
      log,
      log > 0,
      etag,
      ts,
      definition.uniqueKeys !== undefined,
    ])
    const writer = { sql, statements }
    const state = await newSegmentState(writer)
    for (const [index, { minInclusive, maxExclusive }] of ranges.entries()) {
      const range = { minInclusive, maxExclusive, number: index, parents: [], ts }
      await insertRange(writer, { ...range, collection: number }, { inherited: [], state })
    }
    return record
  })
}

/** See `DatabaseEngine.updateCollection`. */
export async function changeCollection(
  context: ReadContext,
  { number, id }: Pick<CollectionRecord, 'number' | 'id'>,
  request: {
    readonly changes: DefinitionChanges
    readonly ifMatch: string | undefined
    readonly database: number
  },
): Promise<CollectionRecord> {
  const { connections, statements, collections } = context
  const { changes, ifMatch, database } = request
  const record = await connections.transaction(async (sql) => {
    // Before the collection's row, as everywhere: the purge stamp belongs to the database.
    await sql.rows(statements.of('SELECT 1 FROM :schema.database WHERE number = $1 FOR UPDATE'), [
      database,
    ])
    const { collection, timeMs } = await lockCollection(context, sql, { number, id })
    const before = collection.record
    if (ifMatch !== undefined && ifMatch !== before.etag) {
      throw new PreconditionFailedError(id, `its etag is ${before.etag}`)
    }
    const changed = changedRecord(before, changes, timeMs)
    // The end of an era, and the log's beginning, must be the same for every commit: none is running.
    const writer = { sql, statements }
    const segments = collection.ranges.map(({ segment }) => segment)
    const states = await lockSegments(writer, segments)
    const atMs = Math.max(timeMs, ...[...states.values()].map(({ clockMs }) => clockMs))
    const after = atMs === timeMs ? changed : changedRecord(before, changes, atMs)
    const { definition } = after
    const isReindexed = after.ttlEras.length !== before.ttlEras.length
    const beginsLog = definition.allVersions !== null && before.definition.allVersions === null
    await sql.rows(statements.of(UPDATE), [
      number,
      JSON.stringify(definition),
      definition.defaultTtl,
      logColumn(definition),
      JSON.stringify(after.ttlEras),
      isReindexed ? '{}' : (collection.reindex ?? null),
      beginsLog || collection.logged,
      after.etag,
      after.ts,
    ])
    // The end of an era must not be ahead of the store's clock, not even after that was set back.
    await sql.rows(statements.of(RAISE_CLOCK), [database, atMs])
    // Versions from before the log was switched on, or while it was off, are not in it.
    if (beginsLog) {
      const stamp = await nextPurgeStamp({ sql, statements }, { database, timeMs: atMs })
      for (const range of collection.ranges) {
        const state = states.get(range.segment)
        if (state === undefined) continue
        const raised = { range: keysOf(range), lsn: state.lsn, stamp }
        const horizons = horizonsText(raiseHorizon(state.logHorizons, raised))
        await sql.rows(statements.of(SET_LOG_HORIZON), [range.segment, horizons])
      }
    }
    return after
  })
  collections.forget(number)
  return record
}

/** Removes a collection from the catalog; its rows follow later, in pieces. Rejects with ERR_NOT_FOUND. */
export async function removeCollection(
  context: ReadContext,
  { number, id }: Pick<CollectionRecord, 'number' | 'id'>,
): Promise<void> {
  const { connections, statements, collections } = context
  await connections.transaction(async (sql) => {
    const lock = 'SELECT 1 FROM :schema.collection WHERE number = $1 FOR UPDATE'
    const found = await sql.rows(statements.of(lock), [number])
    if (found.length === 0) throw new ResourceNotFoundError('collection', id)
    await removeCollectionRows({ sql, statements: context.statements }, number)
  })
  collections.forget(number)
}

/** Removes the catalog's rows of a collection whose row is locked. */
export async function removeCollectionRows(
  { sql, statements }: { readonly sql: Sql; readonly statements: ReadContext['statements'] },
  number: number,
): Promise<void> {
  // Waits for the running commits; later ones find no open segment.
  const lock = 'SELECT id FROM :schema.segment WHERE coll = $1 ORDER BY id FOR UPDATE'
  await sql.rows(statements.of(lock), [number])
  await sql.rows(statements.of(`UPDATE :schema.segment SET state = 'dropped' WHERE coll = $1`), [
    number,
  ])
  for (const table of ['pkrange', 'pkrange_segment', 'position']) {
    await sql.rows(statements.of(`DELETE FROM :schema.${table} WHERE coll = $1`), [number])
  }
  await sql.rows(statements.of('DELETE FROM :schema.collection WHERE number = $1'), [number])
}

/** Column `log` of a collection. */
function logColumn({ allVersions }: CollectionDefinition): number {
  if (allVersions === null) return 0
  return allVersions.previousImages ? 2 : 1
}

function keysOf({ minInclusive, maxExclusive }: RangeRow): FeedRange {
  return { minInclusive, maxExclusive }
}
