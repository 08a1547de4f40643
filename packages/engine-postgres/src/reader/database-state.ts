import type { CollectionName } from '../catalog/collection-cache.ts'
import {
  booleanColumn,
  nullableNumberColumn,
  numberColumn,
  textColumn,
} from '../connection/columns.ts'
import { agingTimes, oldestRowsStatement, type AgingTimes } from '../maintenance/aging-rows.ts'
import { storeTime, type ReadContext } from './read-context.ts'

/** What says whether there is background work in a database, in one snapshot. */
export interface DatabaseState {
  /** Store time, epoch ms. */
  readonly nowMs: number
  /** Who had the right to maintain it last; '' = nobody. */
  readonly holder: string
  readonly untilMs: number
  /** True when there are rows that no range has any more. */
  readonly hasDropped: boolean
  readonly collections: readonly CollectionState[]
}

export interface CollectionState extends CollectionName {
  readonly version: number
  readonly isReindexing: boolean
  /** Second at which the first document by the index of expiry expires. */
  readonly firstExpiry: number | undefined
  /** Of each range that has any. */
  readonly oldestPending: readonly AgingTimes[]
  /** Of each range that has any, while the log is kept. */
  readonly oldestVersions: readonly AgingTimes[]
}

// Collections without pending deletes, as most are, cost one look into an index.
const WITH_PENDING = `m.coll IN (SELECT number FROM c WHERE EXISTS (
  SELECT 1 FROM :schema.doc d WHERE d.coll = c.number AND d.kind = 1))`
const WITH_LOG = 'm.coll IN (SELECT number FROM c WHERE log > 0)'

/** One row of the database (kind 0), one a collection (1), one a range with pending deletes (2), or a log (3). */
const STATE = `WITH c AS MATERIALIZED (
  SELECT number, id, version, reindex IS NOT NULL AS is_reindexing, log FROM :schema.collection WHERE db = $1)
SELECT 0 AS kind, ${storeTime(2)}, b.until, NULL::bigint, b.holder,
  EXISTS (SELECT 1 FROM :schema.segment s WHERE s.state = 'dropped')
FROM :schema.database b WHERE b.number = $1
UNION ALL SELECT 1, c.number, c.version,
  (SELECT d.exp FROM :schema.doc d WHERE d.coll = c.number AND d.kind = 0 AND d.exp > 0
    ORDER BY d.exp LIMIT 1), c.id, c.is_reindexing FROM c
UNION ALL SELECT 2, p.coll, p.lsn, p.at, p.epk, NULL
FROM (${oldestRowsStatement('pendingDeletes', WITH_PENDING)}) p
UNION ALL SELECT 3, v.coll, v.lsn, v.at, v.epk, NULL
FROM (${oldestRowsStatement('versions', WITH_LOG)}) v`

/** Undefined when the database is gone. */
export async function readDatabaseState(
  { connections, statements, clock }: ReadContext,
  database: number,
): Promise<DatabaseState | undefined> {
  const rows = await connections.read(statements.of(STATE), [database, clock.atLeastMs()])
  const ofKind = (kind: string): typeof rows => rows.filter((row) => row[0] === kind)
  const [head] = ofKind('0')
  if (head === undefined) return undefined
  const pending = Map.groupBy(ofKind('2'), (row) => numberColumn(row, 1))
  const versions = Map.groupBy(ofKind('3'), (row) => numberColumn(row, 1))
  return {
    nowMs: numberColumn(head, 1),
    untilMs: numberColumn(head, 2),
    holder: textColumn(head, 4),
    hasDropped: booleanColumn(head, 5),
    collections: ofKind('1').map((row) => {
      const number = numberColumn(row, 1)
      return {
        number,
        id: textColumn(row, 4),
        version: numberColumn(row, 2),
        firstExpiry: nullableNumberColumn(row, 3) ?? undefined,
        isReindexing: booleanColumn(row, 5),
        oldestPending: (pending.get(number) ?? []).map((each) => agingTimes(each, 2)),
        oldestVersions: (versions.get(number) ?? []).map((each) => agingTimes(each, 2)),
      }
    }),
  }
}
