import type { RangeRow, SegmentRow } from '../catalog/collection-row.ts'

/** What a range's inherited rows are to be moved into. */
export interface FoldPlan {
  /** Undefined: a new one. */
  readonly target: SegmentRow | undefined
  readonly sources: readonly SegmentRow[]
}

/** So many segments of its own one after the other cost a page next to nothing. */
const MAX_SEALED_SEGMENTS = 8

/**
 * Whether a range's sealed segments are worth folding, and into which. They are when one is shared with
 * another range, so that pages read rows in vain, when two overlap in LSNs, so that pages read them side
 * by side, or when they are many. A folded segment below all others is gone on with.
 */
export function planFold(range: RangeRow, shared: ReadonlySet<number>): FoldPlan | undefined {
  const sealed = range.segments.filter(({ state }) => state !== 'open')
  const target = foldTarget(sealed, shared)
  const sources = sealed.filter((segment) => segment !== target)
  if (sources.length === 0) return undefined
  const isWorthIt =
    target?.state === 'folding' ||
    sources.some(({ id }) => shared.has(id)) ||
    sources.length > MAX_SEALED_SEGMENTS ||
    overlap(sealed)
  return isWorthIt ? { target, sources } : undefined
}

function foldTarget(
  sealed: readonly SegmentRow[],
  shared: ReadonlySet<number>,
): SegmentRow | undefined {
  const own = sealed.filter(({ folded, id }) => folded && !shared.has(id))
  const begun = own.find(({ state }) => state === 'folding')
  if (begun !== undefined) return begun
  return own.find((segment) =>
    sealed.every((other) => other === segment || other.base >= segment.lsn),
  )
}

function overlap(segments: readonly SegmentRow[]): boolean {
  const byBase = segments.toSorted((a, b) => a.base - b.base)
  return byBase.some(({ lsn }, index) => (byBase[index + 1]?.base ?? Infinity) < lsn)
}
