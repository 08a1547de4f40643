import { booleanColumn } from '../connection/columns.ts'
import type { ReadContext } from '../reader/read-context.ts'

const REMOVE = 'SELECT :schema.remove_dropped($1) OR :schema.purge_entities(NULL, $1)'

/**
 * Deletes at most about `maxRows` rows of documents that no range has any more: those of deleted collections, and
 * segments that were folded. If there are none, of messages of entities that are gone. Resolves false when nothing is left to do, apart from what other processes are doing. Any
 * number of processes can do so at the same time.
 */
export async function removeDropped(
  { connections, statements }: Pick<ReadContext, 'connections' | 'statements'>,
  maxRows: number,
): Promise<boolean> {
  const [row = []] = await connections.write(statements.of(REMOVE), [maxRows])
  return booleanColumn(row, 0)
}
