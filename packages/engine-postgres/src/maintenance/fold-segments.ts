import { errorCode } from '@tidemark/contracts'
import { planFold, sharedSegments } from '@tidemark/store/engine'
import type { CollectionRow } from '../catalog/collection-row.ts'
import type { CollectionName } from '../catalog/collection-cache.ts'
import { booleanColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { takeMaintenance } from './maintenance-lease.ts'
import { maintenanceTurn, pieceOutcome, type PieceOutcome, type PieceRequest } from './piece.ts'

const FOLD = `SELECT other, until_ms, time_ms, items, more, NULL, NULL, NULL, changed
FROM :schema.fold_segments($1, $2, $3, greatest($4::bigint, :now), $5, $6, $7, $8, $9, $10)`
/** How often to plan a fold again because the collection has just changed. */
const MAX_PLANS = 10

/**
 * Moves the next rows, in LSN order, of the segments that a range inherited into one of its own. At any moment each row
 * is in exactly one of them, and pages read all of them, so the work can stop at any point. When all rows are moved,
 * the range drops the inherited segments. A segment that no range has any more is removed.
 */
export async function foldSegments(
  context: ReadContext,
  request: PieceRequest,
  task: { readonly collection: CollectionName; readonly range: number },
): Promise<PieceOutcome> {
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    const collection = await readIfPresent(context, task.collection)
    const values = collection && foldValues(collection, task.range)
    if (values === undefined) break
    const row = await fold(context, request, values)
    const turn = maintenanceTurn(row, context, request.database)
    if ('held' in turn || !booleanColumn(row, 8)) {
      return pieceOutcome(row, { turn, collection: task.collection.number })
    }
  }
  return takeMaintenance(context, request)
}

async function fold(
  { connections, statements, clock }: ReadContext,
  { database, holder, leaseMs, maxItems }: PieceRequest,
  [collection, ...plan]: FoldValues,
): Promise<SqlRow> {
  const piece = [database, holder, leaseMs, clock.atLeastMs(), collection, maxItems]
  const [row = []] = await connections.write(statements.of(FOLD), [...piece, ...plan])
  return row
}

type FoldValues = readonly [
  collection: number,
  version: number,
  range: number,
  target: number | null,
  sources: string,
]

/** Undefined when there is nothing to fold. */
function foldValues(
  { record, version, ranges }: CollectionRow,
  number: number,
): FoldValues | undefined {
  const range = ranges.find((each) => each.number === number)
  const shared = sharedSegments(ranges)
  const plan = range && planFold(range.segments, { shared, isFolded: ({ folded }) => folded })
  if (plan === undefined) return undefined
  const sources = `{${plan.sources.map(({ id }) => id).join(',')}}`
  return [record.number, version, number, plan.target?.id ?? null, sources]
}

async function readIfPresent(
  { collections }: ReadContext,
  record: CollectionName,
): Promise<CollectionRow | undefined> {
  try {
    return await collections.refresh(record)
  } catch (error) {
    if (errorCode(error) === 'ERR_NOT_FOUND') return undefined
    throw error
  }
}
