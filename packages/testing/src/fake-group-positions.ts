import {
  rangesOverlap,
  type FeedRange,
  type GroupPosition,
  type GroupPositions,
} from '@tidemark/contracts'

/** Positions of groups in memory, with every report that came. */
export class FakeGroupPositions implements GroupPositions {
  readonly reports: (readonly GroupPosition[])[] = []
  /** Called before each report. May wait, and may throw: a fault. */
  beforeReport: () => Promise<void> | void = () => {}
  #present: readonly GroupPosition[] = []

  async report(positions: readonly GroupPosition[]): Promise<void> {
    await this.beforeReport()
    this.reports.push(positions)
    for (const position of positions) {
      const kept = this.#present.flatMap((one) =>
        one.group === position.group && rangesOverlap(one.range, position.range)
          ? outside(one.range, position.range).map((range) => ({ ...one, range }))
          : [one],
      )
      this.#present = [...kept, position]
    }
  }

  async read(group: string): Promise<readonly GroupPosition[]> {
    return this.#present
      .filter((one) => one.group === group)
      .sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  }
}

/** The parts of `a` below and above `b`. */
function outside(a: FeedRange, b: FeedRange): readonly FeedRange[] {
  return [
    { minInclusive: a.minInclusive, maxExclusive: b.minInclusive },
    { minInclusive: b.maxExclusive, maxExclusive: a.maxExclusive },
  ].filter(({ minInclusive, maxExclusive }) => {
    const isInside = minInclusive >= a.minInclusive && maxExclusive <= a.maxExclusive
    return isInside && minInclusive < maxExclusive
  })
}
