/** What folding uses of a segment: a run of a range's rows with LSNs in (base, lsn]. */
export interface FoldableSegment {
  readonly id: number
  readonly base: number
  readonly lsn: number
  readonly state: 'open' | 'sealed' | 'folding'
}

/** The target of a range's inherited rows. */
export interface FoldPlan<Segment> {
  /** Undefined: a new segment. */
  readonly target: Segment | undefined
  readonly sources: readonly Segment[]
}

/** This many own segments in a row hardly slow down a page. */
const MAX_SEALED_SEGMENTS = 8

/**
 * Whether to fold a range's sealed segments, and into which segment. It is worth folding in three cases. A segment is
 * shared with another range, so pages read rows that they do not need. Two segments overlap in LSNs, so pages read them
 * in parallel. Or there are too many segments. If a folded segment is below all others, folding continues into it.
 */
export function planFold<Segment extends FoldableSegment>(
  segments: readonly Segment[],
  {
    shared,
    isFolded,
  }: {
    /** Segments that belong to more than one range. */
    readonly shared: ReadonlySet<number>
    /** Whether a segment was filled by moving rows of others. */
    readonly isFolded: (segment: Segment) => boolean
  },
): FoldPlan<Segment> | undefined {
  const sealed = segments.filter(({ state }) => state !== 'open')
  const own = sealed.filter((segment) => isFolded(segment) && !shared.has(segment.id))
  const target = foldTarget(own, sealed)
  const sources = sealed.filter((segment) => segment !== target)
  if (sources.length === 0) return undefined
  const isWorthIt =
    target?.state === 'folding' ||
    sources.some(({ id }) => shared.has(id)) ||
    sources.length > MAX_SEALED_SEGMENTS ||
    overlap(sealed)
  return isWorthIt ? { target, sources } : undefined
}

/** Segments that belong to more than one of the ranges: an ancestor's, not folded yet. */
export function sharedSegments(
  ranges: readonly { readonly segments: readonly Pick<FoldableSegment, 'id'>[] }[],
): ReadonlySet<number> {
  const seen = new Set<number>()
  const shared = new Set<number>()
  for (const { segments } of ranges) {
    for (const { id } of segments) {
      if (seen.has(id)) shared.add(id)
      seen.add(id)
    }
  }
  return shared
}

function foldTarget<Segment extends FoldableSegment>(
  folded: readonly Segment[],
  sealed: readonly Segment[],
): Segment | undefined {
  const begun = folded.find(({ state }) => state === 'folding')
  if (begun !== undefined) return begun
  return folded.find((segment) =>
    sealed.every((other) => other === segment || other.base >= segment.lsn),
  )
}

function overlap(segments: readonly FoldableSegment[]): boolean {
  const byBase = segments.toSorted((a, b) => a.base - b.base)
  return byBase.some(({ lsn }, index) => (byBase[index + 1]?.base ?? Infinity) < lsn)
}
