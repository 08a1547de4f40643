import { numberColumn } from '../connection/columns.ts'
import type { RowWriter } from './range-rows.ts'

const NEXT = `UPDATE :schema.database SET purge = greatest(purge + 1, $2) WHERE number = $1
RETURNING purge`

/** Higher than the stamp of every earlier purge of the database, also of one that a crash of the machine lost. */
export async function nextPurgeStamp(
  { sql, statements }: RowWriter,
  { database, timeMs }: { readonly database: number; readonly timeMs: number },
): Promise<number> {
  const [row = []] = await sql.rows(statements.of(NEXT), [database, timeMs])
  return numberColumn(row, 0)
}
