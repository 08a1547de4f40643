import { feedRangeId, type ChangeFeedSource, type Clock, type PkRangeId } from '@tidemark/contracts'

/** An operation on leases waits this long for the feed: what it writes is right without the ids, too. */
const WAIT_MS = 1000

/** Tells which leases are exactly one pkrange: V3's lease documents say its id. */
export class PkRangeIds {
  readonly #feed: Pick<ChangeFeedSource, 'readFeedRanges'> | undefined
  readonly #clock: Clock
  #ids: ReadonlyMap<string, PkRangeId> = new Map()

  /** Without a feed no id is known. */
  constructor(feed: Pick<ChangeFeedSource, 'readFeedRanges'> | undefined, clock: Clock) {
    this.#feed = feed
    this.#clock = clock
  }

  /** As the feed last said. */
  of(leaseId: string): PkRangeId | undefined {
    return this.#ids.get(leaseId)
  }

  /** Asks the feed for its present ranges. When it does not answer, what it said before stands. */
  async learn(signal?: AbortSignal): Promise<void> {
    if (this.#feed === undefined) return
    const over = new AbortController()
    const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
    try {
      const ranges = await Promise.race([
        this.#feed.readFeedRanges({ signal: either }),
        this.#clock.sleep(WAIT_MS, either).then(() => undefined),
      ])
      const named = ranges?.flatMap((range): [string, PkRangeId][] =>
        range.id === undefined ? [] : [[feedRangeId(range), range.id]],
      )
      if (named !== undefined) this.#ids = new Map(named)
    } catch {
      // Whoever reads the feed tells of its failures.
    } finally {
      over.abort()
    }
  }
}
