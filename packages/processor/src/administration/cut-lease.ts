import { commonKeys, type FeedRange, type StartPosition } from '@tidemark/contracts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'

/** Where the keys of a range are to go on. Wanted ranges are disjoint. */
export interface WantedPosition {
  readonly range: FeedRange
  readonly start: StartPosition
}

/** A part of a lease. */
export interface LeasePart {
  readonly range: FeedRange
  /** Undefined: it stays where it is. */
  readonly wanted: WantedPosition | undefined
}

/**
 * The parts of a lease that get positions of their own, in EPK order, and those between them that stay as they
 * are. A part that moves lies in one of the feed's present ranges, since a position is of one. All parts together
 * are the lease; undefined when none of them moves.
 */
export function cutLease(
  lease: FeedRange,
  wanted: readonly WantedPosition[],
  present: readonly FeedRange[],
): readonly LeasePart[] | undefined {
  const moving = wanted
    .flatMap((position): LeasePart[] => {
      const keys = commonKeys(lease, position.range)
      if (keys === undefined) return []
      const parts = present.flatMap((range) => commonKeys(range, keys) ?? [])
      return parts.map((range) => ({ range, wanted: position }))
    })
    .sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  if (moving.length === 0) return undefined
  const parts: LeasePart[] = []
  let covered = lease.minInclusive
  for (const part of moving) {
    const { minInclusive, maxExclusive } = part.range
    if (covered < minInclusive) parts.push(staying(covered, minInclusive))
    parts.push(part)
    covered = maxExclusive
  }
  if (covered < lease.maxExclusive) parts.push(staying(covered, lease.maxExclusive))
  return parts
}

/** At most `count` parts: what is behind them stays together, as it is, and is cut later. */
export function firstParts(parts: readonly LeasePart[], count: number): readonly LeasePart[] {
  if (parts.length <= count) return parts
  const first = parts.slice(0, count - 1)
  const rest = staying(
    first.at(-1)?.range.maxExclusive ?? '',
    parts.at(-1)?.range.maxExclusive ?? '',
  )
  return [...first, rest]
}

/** What is left of the wanted positions when some ranges have theirs. */
export function withoutDone(
  wanted: readonly WantedPosition[],
  done: readonly FeedRange[],
): readonly WantedPosition[] {
  return wanted.flatMap(({ range, start }) =>
    keysNotIn([range], done).map((left) => ({ range: left, start })),
  )
}

/** Parts of several leases that go into one step: as many as its limit takes, old and new leases together. */
export function steps<Cut extends { readonly parts: readonly unknown[] }>(
  cuts: readonly Cut[],
  limit: number,
): readonly (readonly Cut[])[] {
  const chunks: Cut[][] = []
  let size = Infinity
  for (const cut of cuts) {
    const own = cut.parts.length + 1
    if (size + own > limit) {
      chunks.push([])
      size = 0
    }
    chunks.at(-1)?.push(cut)
    size += own
  }
  return chunks
}

function staying(minInclusive: string, maxExclusive: string): LeasePart {
  return { range: { minInclusive, maxExclusive }, wanted: undefined }
}
