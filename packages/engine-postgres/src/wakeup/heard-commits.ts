import type { TouchedRange } from './touched-range.ts'

/** So many ranges a process hardly reads. */
const MOST_RANGES = 10_000

/**
 * How far pkranges have come, as far as it was told here: who begins to wait need not ask the server. Only of the
 * collections that this process reads, whose first page comes after this began to listen.
 */
export class HeardCommits {
  readonly #isRead: (collection: number) => boolean
  readonly #lsns = new Map<string, number>()

  /** `isRead`: whether this process has the collection's ranges in hand. */
  constructor(isRead: (collection: number) => boolean) {
    this.#isRead = isRead
  }

  heard({ collection, range, lsn }: TouchedRange): void {
    if (!this.#isRead(collection)) return
    const key = `${collection}/${range}`
    if ((this.#lsns.get(key) ?? -1) >= lsn) return
    // Forgotten, they are found by the poll.
    if (this.#lsns.size >= MOST_RANGES) this.#lsns.clear()
    this.#lsns.set(key, lsn)
  }

  /** The newest LSN of a pkrange that it was told of; 0 = none. */
  newestLsn(collection: number, range: number): number {
    return this.#lsns.get(`${collection}/${range}`) ?? 0
  }
}
