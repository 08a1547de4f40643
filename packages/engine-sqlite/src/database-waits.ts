import type { Clock, FeedRange } from '@tidemark/contracts'
import { CommitWaits, type CollectionRecord } from '@tidemark/store/engine'
import type { MessageEngine } from '@tidemark/store/messages'
import type { DatabasePlace } from './database-place.ts'
import { readNews } from './messages/message-tables.ts'
import { MessageWatches } from './messages/message-watches.ts'
import type { MessageNews } from './messages/sqlite-messages.ts'
import type { TouchedRange } from './writer/writer-messages.ts'

/** Why a timer of a wait ends. Without a reason, an abort makes an error with a stack. */
const WAIT_IS_OVER = 'the wait is over'

/** Who waits for commits to one database: readers of feeds, and those who watch messages. Costs nothing without them. */
export class DatabaseWaits {
  readonly #place: DatabasePlace
  readonly #clock: Clock
  readonly #readers = new CommitWaits()
  readonly #messages = new MessageWatches(() => this.#watchWhileNeeded())
  #hasEnded = false

  constructor(place: DatabasePlace, clock: Clock) {
    this.#place = place
    this.#clock = clock
  }

  async waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    const { collection, range, afterLsn, timeoutMs, signal } = request
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const { lsn, rangeNumber } = this.#place.reader.counter(collection, range)
    this.#place.assertReachable()
    if (lsn > afterLsn) return true
    const abort = (): void => reject(signal.reason)
    const stopTimer = new AbortController()
    const endWait = this.#readers.add(
      { collection, range, rangeNumber },
      { afterLsn, wake: () => resolve(true), fail: reject },
    )
    this.#watchWhileNeeded()
    signal.addEventListener('abort', abort, { once: true })
    const timer = this.#clock.sleep(timeoutMs, stopTimer.signal).then(
      () => resolve(false),
      () => undefined,
    )
    try {
      return await promise
    } finally {
      endWait()
      this.#watchWhileNeeded()
      signal.removeEventListener('abort', abort)
      stopTimer.abort(WAIT_IS_OVER)
      await timer
    }
  }

  watchMessages(listener: Parameters<MessageEngine['watch']>[0]): () => void {
    return this.#messages.add(listener)
  }

  /** Of this process. `isQuiet`: readers in other processes find it by their next poll. */
  committed(
    touched: readonly TouchedRange[],
    { isQuiet = false }: { readonly isQuiet?: boolean } = {},
  ): void {
    if (touched.length === 0) return
    if (this.#readers.size > 0) for (const each of touched) this.#readers.committed(each)
    if (!isQuiet) this.#place.announce()
  }

  /** Of this process: ranges or collections are no longer what they were. */
  catalogChanged(): void {
    this.#wake((tell) => tell())
    this.#place.announce()
  }

  /** Notes what a command of this process, or a commit with messages, did. `act` sends it. */
  async performed<Result>(
    act: () => Promise<Result>,
    newsOf: (result: Result) => MessageNews,
  ): Promise<Result> {
    let news: MessageNews | undefined
    let result: Result
    this.#messages.began()
    try {
      result = await act()
      news = newsOf(result)
    } finally {
      this.#messages.ended(news)
    }
    if (news.touched.length > 0) this.#place.announce()
    // Commits of others that were noticed while this one was on its way.
    this.#wake(() => undefined)
    return result
  }

  /** Wakes those whom commits of other processes concern. Cheap when there were none. */
  recheck(): void {
    this.#wake((tell) => this.#place.ifNews(tell))
  }

  /** Rejects the waits of readers. Those who watch messages learn the error from their next look. */
  end(error: Error): void {
    this.#hasEnded = true
    this.#readers.failAll(error)
    this.#messages.end()
    this.#place.stopWatching()
  }

  /** Lets `decide` tell those who wait, if anyone does, how far the database is now. */
  #wake(decide: (tell: () => void) => void): void {
    if (!this.#isNeeded) return
    try {
      decide(() => {
        this.#messages.suspect()
        if (this.#readers.size === 0) return
        const places = this.#readers.places()
        this.#readers.tell(places, this.#place.reader.newestLsns(places))
      })
      this.#messages.judge(() => this.#place.reader.messages(readNews) ?? 0)
    } catch (error) {
      this.#readers.failAll(error)
      // They meet the same error when they look.
      this.#messages.tell(undefined)
    }
  }

  get #isNeeded(): boolean {
    return !this.#hasEnded && (this.#readers.size > 0 || this.#messages.size > 0)
  }

  #watchWhileNeeded(): void {
    if (this.#isNeeded) this.#place.watch(() => this.recheck())
    else this.#place.stopWatching()
  }
}
