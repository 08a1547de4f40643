/** The LSNs for which a segment may have rows: above `base`, up to `lsn`. */
export interface LsnSpan {
  readonly base: number
  readonly lsn: number
}

/** LSNs in (afterLsn, untilLsn], and all segments that may have rows for them. */
export interface Stretch<Segment extends LsnSpan> {
  readonly afterLsn: number
  readonly untilLsn: number
  readonly segments: readonly Segment[]
}

/**
 * The order in which to read a range's segments by LSN: one after another as long as each begins above the previous
 * one. Where spans overlap, after a merge or while rows are folded, in parallel.
 */
export function* stretches<Segment extends LsnSpan>(
  segments: readonly Segment[],
  afterLsn: number,
): Generator<Stretch<Segment>> {
  let position = afterLsn
  for (;;) {
    const left = segments.filter(({ lsn }) => lsn > position)
    if (left.length === 0) return
    const ahead = left.filter(({ base }) => base > position).map(({ base }) => base)
    const covering = left.filter(({ base }) => base <= position)
    const untilLsn = Math.min(...ahead, ...covering.map(({ lsn }) => lsn))
    if (covering.length > 0) yield { afterLsn: position, untilLsn, segments: covering }
    position = untilLsn
  }
}
