import type {
  Change,
  ChangeFeedSource,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { looksAtDocuments, type Look } from './read-feed.ts'
import type { BenchStore } from './open-bench-store.ts'

export const PAGE = 1_000

/** An observer that looks at each change and calls back with each batch. */
export class BenchObserver implements IChangeFeedObserver<OrderDocument> {
  readonly #onBatch: (changes: readonly Change<OrderDocument>[]) => void
  readonly #look: Look
  /** Kept, so that nothing is left unread. */
  total = 0

  constructor(
    onBatch: (changes: readonly Change<OrderDocument>[]) => void,
    look: Look = looksAtDocuments,
  ) {
    this.#onBatch = onBatch
    this.#look = look
  }

  processChanges(_context: ObserverContext, changes: readonly Change<OrderDocument>[]): void {
    for (const change of changes) this.total += this.#look(change)
    this.#onBatch(changes)
  }
}

/** A host over the store's orders, with leases and checkpoints in the same store. */
export function benchHost(
  {
    orders,
    leases,
  }: { readonly orders: ChangeFeedSource<OrderDocument>; readonly leases: Collection },
  { group, fromBeginning }: { readonly group: string; readonly fromBeginning: boolean },
): ChangeFeedProcessorHost<OrderDocument> {
  return new ChangeFeedProcessorHost<OrderDocument>({
    hostName: `bench-${process.pid}`,
    group,
    feed: orders,
    leases: new DocumentLeaseStore(leases),
    feedOptions: { startFromBeginning: fromBeginning, maxItemCount: PAGE },
  })
}

/**
 * Documents per second that a host hands to an observer, from the first batch (which is not counted)
 * till it had `count`: the rate, without the moment in which a new host makes its leases.
 */
export async function drainWithHost(
  store: BenchStore,
  count: number,
  { group, look }: { readonly group: string; readonly look?: Look | undefined },
): Promise<number> {
  const host = benchHost(store, { group, fromBeginning: true })
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let seen = 0
  let first: { readonly atMs: number; readonly documents: number } | undefined
  let endedMs = 0
  const observer = new BenchObserver((changes) => {
    first ??= { atMs: machineMs(), documents: changes.length }
    seen += changes.length
    if (seen < count || endedMs > 0) return
    endedMs = machineMs()
    resolve()
  }, look)
  await host.registerObserver(observer)
  await done
  await host.unregisterObservers()
  if (seen !== count) throw new Error(`the feed has ${seen} documents, expected ${count}`)
  const { atMs = 0, documents = 0 } = first ?? {}
  return ((count - documents) / (endedMs - atMs)) * 1000
}
