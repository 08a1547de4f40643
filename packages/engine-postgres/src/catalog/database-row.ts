import type { DatabaseRecord } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'

/** A database with the number that its rows carry. */
export interface DatabaseRow {
  readonly number: number
  readonly record: DatabaseRecord
}

/** Columns of the table `database` that `databaseRow` reads. */
export const DATABASE_COLUMNS = 'number, id, rid, etag, ts, annotation'

export function databaseRow(row: SqlRow): DatabaseRow {
  const isAnnotated = row[5] !== null
  return {
    number: numberColumn(row, 0),
    record: {
      id: textColumn(row, 1),
      rid: textColumn(row, 2),
      etag: textColumn(row, 3),
      ts: numberColumn(row, 4),
      ...(isAnnotated && { annotation: textColumn(row, 5) }),
    },
  }
}
