import { assertNever } from '@tidemark/contracts/internal'
import type { MaintenanceTask } from '@tidemark/store/engine'
import type { ReadContext } from '../reader/read-context.ts'
import { expireDocuments } from './expire-documents.ts'
import { foldSegments } from './fold-segments.ts'
import { takeMaintenance } from './maintenance-lease.ts'
import type { PieceOutcome, PieceRequest } from './piece.ts'
import { removeOldRows } from './remove-old-rows.ts'

const RELEASE = `UPDATE :schema.database SET holder = '', until = 0 WHERE number = $1 AND holder = $2`

/**
 * See `MaintenanceEngine.maintain`. Pieces of one database run one after another, from any process: each first locks
 * the database's row.
 */
export async function maintain(
  context: ReadContext,
  database: number,
  {
    task,
    ...rest
  }: Omit<PieceRequest, 'database'> & { readonly task?: MaintenanceTask | undefined },
): Promise<PieceOutcome> {
  const request = { ...rest, database }
  if (task === undefined) return takeMaintenance(context, request)
  const { number } = task.collection
  switch (task.kind) {
    case 'sweep':
    case 'expiryIndex':
      return expireDocuments(context, request, { kind: task.kind, collection: number })
    case 'purge':
    case 'trimVersions':
      return removeOldRows(context, request, { kind: task.kind, collection: task.collection })
    case 'fold':
      return foldSegments(context, request, task)
    default:
      return assertNever(task)
  }
}

/** Releases the maintenance lease, if this holder has it. */
export async function releaseMaintenance(
  { connections, statements }: ReadContext,
  database: number,
  holder: string,
): Promise<void> {
  await connections.write(statements.of(RELEASE), [database, holder])
}
