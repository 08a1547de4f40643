/** A throughput, as `resources/offer.ts` has it. */
interface DatabaseOffer {
  readonly throughput: number
  readonly maxThroughput?: number | undefined
}

/**
 * Throughput that databases were made with, by `_rid`. Nothing here depends on it, so that it is kept for clients that
 * ask for it back, as long as the gateway runs.
 */
export class DatabaseOffers {
  readonly #offers = new Map<string, DatabaseOffer>()

  set(rid: string, offer: DatabaseOffer): void {
    this.#offers.set(rid, offer)
  }

  get(rid: string): DatabaseOffer | undefined {
    return this.#offers.get(rid)
  }

  delete(rid: string): void {
    this.#offers.delete(rid)
  }
}
