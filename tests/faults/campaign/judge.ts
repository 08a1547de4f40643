import { UNSTORED_BATCHES } from '../check-history.ts'
import { entriesOf, type HistoryEntry } from '../history.ts'
import {
  neverDone,
  neverWritten,
  outOfOrder,
  staleOverRanges,
} from '../ranges/check-range-history.ts'

type Histories = readonly (readonly HistoryEntry[])[]

/** What a scenario promises, and what its fault may cost. */
export interface Promised {
  /** Changes of one batch at most. */
  readonly maxItemCount: number
  /** False where the lease store went back in time: who owned a lease before may believe that it still does. */
  readonly exclusive: boolean
  /** What the lease store was told in between is gone from it. */
  readonly lost?: { readonly fromMs: number; readonly toMs: number } | undefined
  /** Batches that were aborted on purpose although their lease was given back in order. */
  readonly abortedBatches: number
}

export interface Verdict {
  readonly lost: readonly string[]
  readonly outOfOrder: readonly string[]
  /** Other sentences that must not be. */
  readonly wrong: readonly string[]
  /** Deliveries to a second owner, a third, … of a change. Tries of one owner are not counted. */
  readonly duplicates: number
  readonly bound: number
  /** How the bound came about. */
  readonly boundText: string
}

/** Lays the histories of all processes side by side. */
export function judge(
  {
    written,
    histories,
    living,
  }: { written: readonly string[]; histories: Histories; living: Histories },
  promised: Promised,
): Verdict {
  const stale = promised.exclusive ? staleOverRanges(histories) : []
  const ends = abruptEnds(histories, living) + promised.abortedBatches
  const { lost } = promised
  const inWindow = lost === undefined ? 0 : doneBetween(histories, lost)
  const window =
    lost === undefined ? '' : ` + ${inWindow} that were done while what was stored got lost`
  return {
    lost: neverDone(written, histories),
    outOfOrder: outOfOrder(histories),
    wrong: [
      ...neverWritten(written, histories).map((id) => `${id} was delivered, and nobody wrote it`),
      ...stale.map(({ lease, epoch }) => `${lease} was dispatched at epoch ${epoch}, a stale one`),
    ],
    duplicates: duplicates(histories),
    bound: ends * UNSTORED_BATCHES * promised.maxItemCount + inWindow,
    boundText: `${ends} leases ended abruptly x ${UNSTORED_BATCHES} x ${promised.maxItemCount}${window}`,
  }
}

/** Deliveries of a change to owners after its first one. */
function duplicates(histories: Histories): number {
  const owners = new Map<string, Set<string>>()
  for (const [index, history] of histories.entries()) {
    for (const { ids, lease, epoch } of entriesOf(history, 'dispatch')) {
      for (const id of ids) {
        const known = owners.get(id) ?? new Set()
        owners.set(id, known.add(`${index} ${lease} ${epoch}`))
      }
    }
  }
  return [...owners.values()].reduce((sum, { size }) => sum + size - 1, 0)
}

/**
 * Leases that a process had opened and neither gave back in order, nor replaced by others, nor has open still: the
 * batch that it was at, and the one before, may come again. Their number follows from what the processes noted, so that a fault that did
 * not happen allows nothing.
 */
function abruptEnds(histories: Histories, living: Histories): number {
  let count = 0
  for (const history of histories) {
    const open = new Set<string>()
    for (const entry of history) {
      if (entry.kind === 'open') open.add(`${entry.lease} ${entry.epoch}`)
      if (entry.kind === 'event') for (const name of endedInOrder(entry)) open.delete(name)
    }
    const closed = new Set(
      entriesOf(history, 'close').map(({ lease, epoch }) => `${lease} ${epoch}`),
    )
    const isLiving = living.includes(history)
    for (const name of open) if (!isLiving || closed.has(name)) count += 1
  }
  return count
}

interface NamedLease {
  readonly leaseId: string
  readonly epoch: number
}

function endedInOrder({
  name,
  detail,
}: {
  readonly name: string
  readonly detail: string
}): readonly string[] {
  if (name !== 'leaseReleased' && name !== 'rangeReplaced' && name !== 'leasesJoined') return []
  // As the host told it.
  const event = JSON.parse(detail) as NamedLease & { reason?: string; old?: readonly NamedLease[] }
  if (event.reason === 'observerStuck') return []
  return [event, ...(event.old ?? [])].map(({ leaseId, epoch }) => `${leaseId} ${epoch}`)
}

function doneBetween(
  histories: Histories,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): number {
  return histories
    .flatMap((history) => entriesOf(history, 'complete'))
    .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    .reduce((sum, { ids }) => sum + ids.length, 0)
}
