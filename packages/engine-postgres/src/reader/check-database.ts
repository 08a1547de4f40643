import { numberColumn, textColumn } from '../connection/columns.ts'
import type { DatabaseRow } from '../catalog/database-row.ts'
import { COLLECTION_CHECKS } from './collection-checks.ts'
import { MESSAGE_CHECKS } from './message-checks.ts'
import type { ReadContext } from './read-context.ts'

const COLLECTIONS = 'SELECT number, id FROM :schema.collection WHERE db = $1 ORDER BY number'
/** Maximum number of sentences from one check of one collection. */
const MAX_PROBLEMS = 20

/**
 * Contradictions between documents, messages, indexes, ranges and counters, as sentences. Reads everything, in one
 * snapshot, collection by collection.
 */
export async function checkDatabase(
  { connections, statements }: ReadContext,
  { number: database }: DatabaseRow,
): Promise<readonly string[]> {
  return connections.snapshot(async (sql) => {
    const problems: string[] = []
    for (const collection of await sql.rows(statements.of(COLLECTIONS), [database])) {
      const number = numberColumn(collection, 0)
      for (const check of COLLECTION_CHECKS) {
        const found = await sql.rows(statements.of(`${check} LIMIT ${MAX_PROBLEMS}`), [number])
        for (const row of found) {
          problems.push(`collection ${textColumn(collection, 1)}: ${textColumn(row, 0)}`)
        }
      }
    }
    for (const check of MESSAGE_CHECKS) {
      // The server does not take a value that a statement does not name.
      const values = check.includes('$1') ? [database] : []
      const found = await sql.rows(statements.of(`${check} LIMIT ${MAX_PROBLEMS}`), values)
      for (const row of found) problems.push(textColumn(row, 0))
    }
    return problems
  })
}
