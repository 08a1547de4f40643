import { entriesOf, type HistoryEntry, type HistoryEntryOf } from './history.ts'
import { MAX_ITEM_COUNT } from './host-process.ts'

type Dispatch = HistoryEntryOf<'dispatch'>

/** How often each document was delivered, over all hosts. */
export function deliveries(histories: readonly (readonly HistoryEntry[])[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { ids } of histories.flatMap((history) => entriesOf(history, 'dispatch'))) {
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

export function missing(
  written: readonly string[],
  delivered: ReadonlyMap<string, number>,
): string[] {
  return written.filter((id) => !delivered.has(id))
}

export function repeated(delivered: ReadonlyMap<string, number>): string[] {
  return [...delivered].filter(([, count]) => count > 1).map(([id]) => id)
}

/** Dispatches at an epoch that a higher one of the same lease had already replaced at that time. */
export function staleDispatches(
  histories: readonly (readonly HistoryEntry[])[],
): readonly Dispatch[] {
  const opens = histories.flatMap((history) => entriesOf(history, 'open'))
  return histories
    .flatMap((history) => entriesOf(history, 'dispatch'))
    .filter((dispatch) =>
      opens.some(
        (open) =>
          open.lease === dispatch.lease && open.epoch > dispatch.epoch && open.atMs < dispatch.atMs,
      ),
    )
}

/** Dispatches of leases opened before `sinceMs` that began after `deadlineMs`. */
export function dispatchesPast(
  history: readonly HistoryEntry[],
  { openedBeforeMs, deadlineMs }: { readonly openedBeforeMs: number; readonly deadlineMs: number },
): readonly Dispatch[] {
  const old = new Set(
    entriesOf(history, 'open')
      .filter(({ atMs }) => atMs < openedBeforeMs)
      .map(({ lease, epoch }) => `${lease} ${epoch}`),
  )
  return entriesOf(history, 'dispatch').filter(
    ({ atMs, lease, epoch }) => atMs > deadlineMs && old.has(`${lease} ${epoch}`),
  )
}

/** Default of `maxUnstoredBatches`: so many batches of a lease come again when its host dies. */
export const UNSTORED_BATCHES = 2

/**
 * Changes that came again although an earlier owner was past them: not in the batch that it had begun last, nor in
 * those right before that have `MAX_ITEM_COUNT` changes together at most. Only those may not be stored when a host
 * dies (a checkpoint after every batch): how many small ones they are depends on speed.
 */
export function repeatedBeyondTwoBatches(
  histories: readonly (readonly HistoryEntry[])[],
): readonly { readonly lease: string; readonly lsn: number }[] {
  const beyond: { lease: string; lsn: number }[] = []
  for (const owners of dispatchesByOwner(histories).values()) {
    for (const [index, owner] of owners.entries()) {
      for (const { lease, lsns } of owner) {
        for (const lsn of lsns) {
          const earlier = owners.slice(0, index)
          if (earlier.some((batches) => storedOf(batches).some((b) => b.lsns.includes(lsn)))) {
            beyond.push({ lease, lsn })
          }
        }
      }
    }
  }
  return beyond
}

function storedOf(batches: readonly Dispatch[]): readonly Dispatch[] {
  let count = 0
  const stored = batches.slice(0, -1)
  for (let last = stored.at(-1); last !== undefined; last = stored.at(-1)) {
    count += last.lsns.length
    if (count > MAX_ITEM_COUNT) break
    stored.pop()
  }
  return stored
}

/** Of each lease, the batches of each epoch in the order of the epochs. */
function dispatchesByOwner(
  histories: readonly (readonly HistoryEntry[])[],
): Map<string, (readonly Dispatch[])[]> {
  const byLease = new Map<string, Map<number, Dispatch[]>>()
  for (const dispatch of histories.flatMap((history) => entriesOf(history, 'dispatch'))) {
    const epochs = byLease.get(dispatch.lease) ?? new Map<number, Dispatch[]>()
    byLease.set(dispatch.lease, epochs)
    epochs.set(dispatch.epoch, [...(epochs.get(dispatch.epoch) ?? []), dispatch])
  }
  return new Map(
    [...byLease].map(([lease, epochs]) => [
      lease,
      [...epochs]
        .toSorted(([a], [b]) => a - b)
        .map(([, batches]) => batches.toSorted((a, b) => a.atMs - b.atMs)),
    ]),
  )
}
