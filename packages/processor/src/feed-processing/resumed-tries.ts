import type { BatchAttempts, Change, DocumentBody } from '@tidemark/contracts'
import { deadLetterId, lsnOfDeadLetterId } from '../dead-letters/dead-letter-of.ts'

/** Where in a page the changes begin that were tried before. */
export interface TriedBefore {
  readonly index: number
  readonly attempts: BatchAttempts
}

/**
 * The tries of those who had a lease before, until the change is met that they begin with. It need not be the
 * first one of all; and when its document was written again meanwhile, or it is in another part of a range that
 * was split, it does not come any more: then they count for nobody.
 */
export class ResumedTries<T extends DocumentBody> {
  readonly #group: string
  readonly #feed: string
  readonly #lsn: number
  #attempts: (BatchAttempts & { readonly first: string }) | undefined

  constructor(
    attempts: BatchAttempts | undefined,
    { group, feed }: { readonly group: string; readonly feed: string },
  ) {
    this.#group = group
    this.#feed = feed
    const first = attempts?.first
    this.#lsn = first === undefined ? Number.NaN : lsnOfDeadLetterId(first)
    if (attempts !== undefined && first !== undefined && !Number.isNaN(this.#lsn)) {
      this.#attempts = { ...attempts, first }
    }
  }

  /** Whether the change may still come. */
  get arePending(): boolean {
    return this.#attempts !== undefined
  }

  /** Looks for the change in the next page, once for each page. */
  find(changes: readonly Change<T>[]): TriedBefore | undefined {
    const attempts = this.#attempts
    if (attempts === undefined) return undefined
    const index = changes.findIndex((change) => this.#is(change, attempts.first))
    if (index >= 0 || (changes.at(-1)?.lsn ?? 0) >= this.#lsn) this.#attempts = undefined
    return index >= 0 ? { index, attempts } : undefined
  }

  #is(change: Change<T>, first: string): boolean {
    if (change.lsn !== this.#lsn) return false
    return deadLetterId({ group: this.#group, feed: this.#feed, change }) === first
  }
}
