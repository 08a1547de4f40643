import { parsePositions, type CollectionRecord, type PositionList } from '@tidemark/store/engine'
import { textColumn } from '../connection/columns.ts'
import type { Sql } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'

const READ = 'SELECT grp, list FROM :schema.position WHERE coll = $1'

/** The positions of the groups for which a collection's pending deletes wait; empty when there are none. */
export async function readGroupPositions(
  { sql, statements }: { readonly sql: Sql; readonly statements: Statements },
  { number, definition }: CollectionRecord,
): Promise<ReadonlyMap<string, PositionList>> {
  if (definition.pendingDeletes.waitFor.length === 0) return new Map()
  const rows = await sql.rows(statements.of(READ), [number])
  return new Map(rows.map((row) => [textColumn(row, 0), parsePositions(textColumn(row, 1))]))
}
