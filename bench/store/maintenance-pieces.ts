import type { Collection, MaintenanceTask } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'
import { machineMs } from '../measuring/stopwatch.ts'

/** As the store's own: `maxItems` is its default. */
const PIECE = { holder: 'bench', leaseMs: 60_000, maxItems: 500 } as const

export interface PieceRun {
  readonly items: number
  readonly ms: number
}

/**
 * Turns expired documents of one collection into pending deletes, piece after piece without the pauses
 * that the store makes, for so long or so many at most. The store has to be opened with `manual`.
 */
export async function sweepPieces(
  orders: Collection<OrderDocument>,
  { seconds, most }: { readonly seconds: number; readonly most: number },
): Promise<PieceRun> {
  const { engine, record } = await orders.open()
  const task: MaintenanceTask = { kind: 'sweep', collection: record }
  const started = machineMs()
  let items = 0
  for (let more = true; more && items < most && machineMs() < started + seconds * 1000;) {
    const outcome = await engine.maintain({ ...PIECE, task })
    if (outcome.kind === 'held') throw new Error(`${outcome.holder} is sweeping`)
    items += outcome.items
    more = outcome.more
  }
  const ms = machineMs() - started
  await engine.releaseMaintenance(PIECE.holder)
  return { items, ms }
}
