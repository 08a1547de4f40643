import type { AgingTimes } from '@tidemark/store/engine'
import type { CollectionName } from '../catalog/collection-cache.ts'
import {
  booleanColumn,
  nullableNumberColumn,
  numberColumn,
  textColumn,
} from '../connection/columns.ts'
import { agingTimes } from './aging-rows.ts'
import type { ReadContext } from '../reader/read-context.ts'

/** What determines whether there is background work in a database, in one snapshot. */
export interface DatabaseState {
  /** Store time, epoch ms. */
  readonly nowMs: number
  /** The last holder of the maintenance lease; '' = none. */
  readonly holder: string
  readonly untilMs: number
  /** True when there are rows that no range has any more. */
  readonly hasDropped: boolean
  readonly collections: readonly CollectionState[]
}

export interface CollectionState extends CollectionName {
  readonly version: number
  readonly isReindexing: boolean
  /** Second at which the first document in the index of expiry expires. */
  readonly firstExpiry: number | undefined
  /** For each range that has any. */
  readonly oldestPending: readonly AgingTimes[]
  /** For each range that has any, while the log is kept. */
  readonly oldestVersions: readonly AgingTimes[]
}

const STATE = `SELECT kind, a, b, c, name, flag
FROM :schema.maintenance_state($1, greatest($2::bigint, :now))`

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
