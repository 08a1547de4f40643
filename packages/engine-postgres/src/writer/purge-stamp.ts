import { numberColumn } from '../connection/columns.ts'
import type { RowWriter } from './range-rows.ts'

const NEXT = `UPDATE :schema.database SET purge = greatest(purge + 1, $2) WHERE number = $1
RETURNING purge`

/** Higher than that of every purge of the database before, also of one that the machine forgot. */
export async function nextPurgeStamp(
  { sql, statements }: RowWriter,
  { database, timeMs }: { readonly database: number; readonly timeMs: number },
): Promise<number> {
  const [row = []] = await sql.rows(statements.of(NEXT), [database, timeMs])
  return numberColumn(row, 0)
}
