import type { TouchedRange } from './touched-range.ts'

/** A process hardly reads this many ranges. */
const MOST_RANGES = 10_000

/**
 * How far pkranges have come, as reported here, so that a reader that begins to wait need not ask the server. Only for
 * the collections that this process reads, whose first page comes after it began to listen.
 */
export class HeardCommits {
  readonly #isRead: (collection: number) => boolean
  readonly #lsns = new Map<string, number>()

  /** `isRead`: whether this process has the collection's ranges cached. */
  constructor(isRead: (collection: number) => boolean) {
    this.#isRead = isRead
  }

  heard({ collection, range, lsn }: TouchedRange): void {
    if (!this.#isRead(collection)) return
    const key = `${collection}/${range}`
    if ((this.#lsns.get(key) ?? -1) >= lsn) return
    // If they are forgotten, the poll finds them.
    if (this.#lsns.size >= MOST_RANGES) this.#lsns.clear()
    this.#lsns.set(key, lsn)
  }

  forget(): void {
    this.#lsns.clear()
  }

  /** The newest reported LSN of a pkrange; 0 = none. */
  newestLsn(collection: number, range: number): number {
    return this.#lsns.get(`${collection}/${range}`) ?? 0
  }
}
