import type {
  BatchAttempts,
  Change,
  ChangeFeedSource,
  DocumentBody,
  FeedPage,
  FeedRange,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import type { BatchDelivery } from './batch-delivery.ts'
import { BatchMarks } from './batch-marks.ts'
import type { TriesOfPiece } from './bisection.ts'
import type { PositionKeeper } from './position-keeper.ts'
import type { PumpOptions } from './pump-options.ts'
import { ResumedTries, type TriedBefore } from './resumed-tries.ts'

export interface PageDeliveryParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly range: FeedRange
  readonly options: PumpOptions
  readonly keeper: PositionKeeper
  readonly delivery: BatchDelivery<T>
  readonly signal: AbortSignal
  /** Stored with the lease by those who had it before. */
  readonly attempts: BatchAttempts | undefined
  readonly contextOf: (
    changes: readonly Change<T>[],
    about: { readonly attempt: number; readonly page: FeedPage<T> },
  ) => ObserverContext
}

/**
 * One range's pages, each with the tries of those who had the lease before. A process that dies with the first one
 * in its hands leaves word of it; later ones are stored as tried only once something has failed.
 */
export class PageDelivery<T extends DocumentBody> {
  readonly #parts: PageDeliveryParts<T>
  readonly #marks: BatchMarks<T>
  readonly #resumed: ResumedTries<T>
  /** Nothing was done yet: whoever had the lease may have died of what comes now. */
  #isFirst: boolean
  #before: TriedBefore | undefined
  #announced: FeedPage<T> | undefined

  constructor(parts: PageDeliveryParts<T>) {
    const { options, feed, attempts } = parts
    this.#parts = parts
    this.#marks = new BatchMarks(parts)
    this.#resumed = new ResumedTries(attempts, { group: options.group, feed: feed.identity })
    this.#isFirst = options.failurePolicy.mode !== 'retryForever'
  }

  /** Looks whether changes of a page were tried before. Such a page, and those before it, are to be delivered in order. */
  mustBeInOrder({ changes }: FeedPage<T>): boolean {
    this.#before = this.#resumed.find(changes)
    return this.#before !== undefined || this.#resumed.arePending
  }

  /** Stores that a page is in work, if that is to be known; false when the lease is lost. */
  async announce(page: FeedPage<T>): Promise<boolean> {
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (isFirst) this.#announced = page
    return !isFirst || this.#marks.storePage(page)
  }

  /** What was announced, and is not done, was refused with all the rest: no try of its changes. */
  withdraw(): void {
    if (this.#announced !== undefined)
      this.#marks.withdraw(this.#announced, 0, { count: 0, size: 0 })
  }

  /** Hands a page over in order; false when the end came first. Never rejects. */
  async deliver(observer: IChangeFeedObserver<T>, page: FeedPage<T>): Promise<boolean> {
    const { index = 0, attempts } = this.#before ?? {}
    this.#before = undefined
    // What comes before was accepted already, by whoever stored these tries.
    const parts = [
      { from: 0, to: index, resumed: undefined },
      { from: index, to: page.changes.length, resumed: attempts },
    ]
    for (const part of parts) {
      if (part.to > part.from && !(await this.#deliverPart(observer, page, part))) return false
    }
    this.#isFirst = false
    return true
  }

  #deliverPart(
    observer: IChangeFeedObserver<T>,
    page: FeedPage<T>,
    {
      from,
      to,
      resumed,
    }: {
      readonly from: number
      readonly to: number
      readonly resumed: TriesOfPiece | undefined
    },
  ): Promise<boolean> {
    const { delivery, contextOf } = this.#parts
    const marks = this.#marks
    return delivery.deliver({
      observer,
      changes: to - from === page.changes.length ? page.changes : page.changes.slice(from, to),
      contextOf: (changes, attempt) => contextOf(changes, { attempt, page }),
      resumed,
      storesFirst: this.#isFirst,
      tries: {
        store: (index, tries) => marks.store(page, from + index, tries),
        withdraw: (index, tries) => marks.withdraw(page, from + index, tries),
      },
    })
  }
}
