import { RangeGoneError, type Clock } from '@tidemark/contracts'
import { rangeOfEpk, type OpenCollection, type RangeRecord } from '@tidemark/store/engine'

/**
 * How long a list of ranges is believed, in ms. Another process may have split: until then its clients read the
 * parent's interval, which the store refuses if it is not inside one present range, so that nothing is lost.
 */
const MAX_AGE_MS = 1000

/** Most lists that are kept: collections come and go. */
const MAX_COLLECTIONS = 10_000

interface KnownRanges {
  readonly ranges: readonly RangeRecord[]
  readonly readAtMs: number
}

/** The present pkranges of collections, so that a point operation need not ask for them. */
export class PresentRanges {
  readonly #clock: Clock
  readonly #known = new Map<string, KnownRanges>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** In EPK order. */
  async of(open: OpenCollection): Promise<readonly RangeRecord[]> {
    const known = this.#known.get(open.record.rid)
    if (known !== undefined && this.#clock.monotonicMs() - known.readAtMs < MAX_AGE_MS) {
      return known.ranges
    }
    return this.refresh(open)
  }

  async refresh(open: OpenCollection): Promise<readonly RangeRecord[]> {
    const ranges = await open.engine.listRanges(open.record)
    if (this.#known.size >= MAX_COLLECTIONS) this.#known.clear()
    this.#known.set(open.record.rid, { ranges, readAtMs: this.#clock.monotonicMs() })
    return ranges
  }

  /** Ranges were split or merged somewhere. */
  forgetAll(): void {
    this.#known.clear()
  }

  /** The range that holds an EPK. */
  async holding(open: OpenCollection, epk: string): Promise<RangeRecord> {
    return rangeOfEpk(await this.of(open), epk)
  }

  /**
   * The range of a number.
   *
   * @throws ERR_RANGE_GONE, also for one that never was: the client then lists the ranges again
   */
  async numbered(open: OpenCollection, number: number): Promise<RangeRecord> {
    const known = await this.of(open)
    const found =
      known.find((range) => range.number === number) ??
      (await this.refresh(open)).find((range) => range.number === number)
    if (found === undefined) throw new RangeGoneError(String(number), [])
    return found
  }

  /**
   * The ranges that a number stands for, in EPK order: the range itself, or what it has split into, which has its keys and
   * no others.
   *
   * @throws ERR_RANGE_GONE as `numbered`, and where a merge has mixed its keys with others
   */
  async numberedOrSplit(open: OpenCollection, number: number): Promise<readonly RangeRecord[]> {
    const known = await this.of(open)
    if (known.some((range) => range.number === number)) return [await this.numbered(open, number)]
    const parts = partsOf(await this.refresh(open), number)
    return parts.length === 0 ? [await this.numbered(open, number)] : parts
  }
}

/** What a range has split into; nothing where a merge came after it. */
function partsOf(present: readonly RangeRecord[], number: number): readonly RangeRecord[] {
  const parts = present.filter(({ parents }) => parents.includes(number))
  const children = new Map<number, Set<number>>()
  for (const part of parts) {
    const line = [...part.parents.slice(part.parents.indexOf(number)), part.number]
    for (const [index, child] of line.slice(1).entries()) {
      const parent = line[index] ?? number
      children.set(parent, (children.get(parent) ?? new Set()).add(child))
    }
  }
  // A split has two children or more. The last of the ranges that were merged has one, what came of them.
  return [...children.values()].every(({ size }) => size > 1) ? parts : []
}
