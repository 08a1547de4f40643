import { parseFeedRangeId, rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import { entriesOf, type HistoryEntry, type HistoryEntryOf } from '../history.ts'

type Histories = readonly (readonly HistoryEntry[])[]

/** Changes, named `key:number`, whose work was never done although they were acknowledged. */
export function neverDone(written: readonly string[], histories: Histories): readonly string[] {
  const done = new Set(all(histories, 'complete').flatMap(({ ids }) => ids))
  return written.filter((id) => !done.has(id))
}

/** Changes that nobody wrote. */
export function neverWritten(written: readonly string[], histories: Histories): readonly string[] {
  const known = new Set(written)
  return all(histories, 'dispatch').flatMap(({ ids }) => ids.filter((id) => !known.has(id)))
}

/**
 * Changes whose work was done for the first time after that of a later change of the same key. What a
 * dead owner had done may be done again; but never before what comes before it.
 */
export function outOfOrder(histories: Histories): readonly string[] {
  const done = new Set<string>()
  const newest = new Map<string, number>()
  const faults: string[] = []
  for (const id of all(histories, 'complete').flatMap(({ ids }) => ids)) {
    if (done.has(id)) continue
    done.add(id)
    const [key = '', number] = id.split(':')
    if (Number(number) < (newest.get(key) ?? -1)) faults.push(id)
    newest.set(key, Math.max(Number(number), newest.get(key) ?? -1))
  }
  return faults
}

/**
 * Dispatches at an epoch when a higher one had been opened already for some of the same keys: by the
 * lease's next owner, or by the leases that came in its place.
 */
export function staleOverRanges(histories: Histories): readonly HistoryEntryOf<'dispatch'>[] {
  const stale: HistoryEntryOf<'dispatch'>[] = []
  let opened: readonly { readonly range: FeedRange; readonly epoch: number }[] = []
  const entries = [...all(histories, 'open'), ...all(histories, 'dispatch')]
  for (const entry of entries.toSorted((a, b) => a.atMs - b.atMs)) {
    const range = rangeOf(entry)
    if (entry.kind === 'open') {
      const { epoch } = entry
      const others = opened.filter(
        (other) => other.epoch > epoch || !rangeContains(range, other.range),
      )
      opened = [...others, { range, epoch }]
    } else if (
      opened.some((other) => other.epoch > entry.epoch && rangesOverlap(other.range, range))
    ) {
      stale.push(entry)
    }
  }
  return stale
}

/** Leases that were open in a process when it died, and whose keys another one opened afterwards. */
export function takeovers(dead: Histories, histories: Histories): number {
  const opens = all(histories, 'open')
  return dead
    .flatMap((history) => leftOpen(history))
    .filter((left) => opens.some((open) => open.epoch > left.epoch && overlap(open, left))).length
}

function leftOpen(history: readonly HistoryEntry[]): readonly HistoryEntryOf<'open'>[] {
  const closed = new Set(entriesOf(history, 'close').map(({ lease, epoch }) => `${lease} ${epoch}`))
  return entriesOf(history, 'open').filter(({ lease, epoch }) => !closed.has(`${lease} ${epoch}`))
}

/** Of all processes, in the order of the machine's clock. */
function all<Kind extends HistoryEntry['kind']>(
  histories: Histories,
  kind: Kind,
): readonly HistoryEntryOf<Kind>[] {
  return histories
    .flatMap((history) => entriesOf(history, kind))
    .toSorted((a, b) => a.atMs - b.atMs)
}

function overlap(a: { readonly lease: string }, b: { readonly lease: string }): boolean {
  return rangesOverlap(rangeOf(a), rangeOf(b))
}

function rangeOf({ lease }: { readonly lease: string }): FeedRange {
  const range = parseFeedRangeId(lease)
  if (range === undefined) throw new Error(`${lease} is no lease of a range`)
  return range
}
