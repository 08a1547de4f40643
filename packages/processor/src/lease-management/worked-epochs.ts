import { commonKeys, type FeedRange } from '@tidemark/contracts'
import { RangeMap } from './range-map.ts'

/**
 * Of each key the highest epoch at which this host has worked on it.
 *
 * A store that goes back to what it was some moments ago, as after a fail-over to a replica that lagged, makes a host the
 * owner again of leases that it has given up, at the epochs of then. By now others may have worked on them, at
 * higher epochs of which the store knows nothing any more; a sink that has seen those refuses the old one. So
 * such a lease is given back, and got again at a new epoch.
 */
export class WorkedEpochs {
  readonly #worked = new RangeMap<number>()

  /** This host begins to work on these keys. */
  begun(range: FeedRange, epoch: number): void {
    const higher = this.#worked.overlapping(range).filter(({ value }) => value > epoch)
    this.#worked.set(range, epoch)
    for (const one of higher) {
      const keys = commonKeys(one.range, range)
      if (keys !== undefined) this.#worked.set(keys, one.value)
    }
  }

  /** Whether a lease that the store gives, and that is not held, is one of the past. */
  isPast(range: FeedRange, epoch: number): boolean {
    return this.#worked.overlapping(range).some(({ value }) => value >= epoch)
  }

  /**
   * A lease of the past is given back: whatever comes next for these keys is new if its epoch is higher than that, also
   * where the store's clock has gone back.
   */
  givenBack(range: FeedRange, epoch: number): void {
    this.#worked.set(range, epoch)
  }
}
