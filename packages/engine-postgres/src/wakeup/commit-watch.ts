import type { Clock, FeedRange } from '@tidemark/contracts'
import { CommitWaits, type CollectionRecord } from '@tidemark/store/engine'
import { readCounters } from '../reader/read-counters.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { HeardCommits } from './heard-commits.ts'
import { ReplicaLag } from './replica-lag.ts'
import type { TouchedRange } from './touched-range.ts'

export interface CommitWatchOptions {
  readonly context: ReadContext
  readonly clock: Clock
  /** Time until the next check of the server, while no notification comes. */
  readonly pollIntervalMs: () => number
  readonly maxReplicaLagMs: number
  /** Since when every commit is reported, on the monotonic clock; undefined while that is not so. */
  readonly hearsAllSinceMs: () => number | undefined
}

/** For this long after it began to listen, or after a notification without ranges, a wait begins with a check. */
const DEAF_MS = 5_000

/**
 * Readers of one database that have caught up and wait for a commit. They hear of commits of this process at once, and
 * of others by the doorbell. A poll finds the rest. Where feeds are read from a follower, only the poll counts. A
 * follower has a commit only some time after its notification: a check at each commit would mean constant checks while
 * it lags.
 */
export class CommitWatch {
  readonly #options: CommitWatchOptions
  readonly #waits = new CommitWaits()
  readonly #heard: HeardCommits
  readonly #lag: ReplicaLag
  #polling: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined
  #checking: Promise<void> | undefined
  #looksWanted = 0
  /** Time of the last notification without ranges, on the monotonic clock. */
  #untoldMs = -Infinity
  #ended: Error | undefined

  constructor(options: CommitWatchOptions) {
    this.#options = options
    const { collections } = options.context
    this.#heard = new HeardCommits((number) => collections.known(number) !== undefined)
    this.#lag = new ReplicaLag(options)
  }

  /** See `DatabaseEngine.waitForCommit`. */
  async wait({
    collection,
    range,
    afterLsn,
    timeoutMs,
    signal,
  }: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    signal.throwIfAborted()
    const { context, clock } = this.#options
    const wasKnown = context.collections.known(collection.number) !== undefined
    const rangeNumber = await context.collections.inRange(
      collection,
      range,
      async (known) => known.range.number,
    )
    signal.throwIfAborted()
    if (this.#ended !== undefined) throw this.#ended
    if (this.#heard.newestLsn(collection.number, rangeNumber) > afterLsn) return true
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const abort = (): void => reject(signal.reason)
    const stopTimer = new AbortController()
    const endWait = this.#waits.add(
      { collection, range, rangeNumber },
      { afterLsn, wake: () => resolve(true), fail: reject },
    )
    signal.addEventListener('abort', abort, { once: true })
    const timer = clock.sleep(timeoutMs, stopTimer.signal).then(
      () => resolve(false),
      () => undefined,
    )
    this.#startPolling()
    // Whether there is something to read already: one check for all waits that begin meanwhile.
    if (!wasKnown || !this.#hearsAll()) this.recheck()
    try {
      return await promise
    } finally {
      endWait()
      signal.removeEventListener('abort', abort)
      stopTimer.abort()
      await timer
      if (this.#waits.size === 0) this.#polling?.stop.abort()
    }
  }

  /** Wakes the readers that a commit of this process concerns. */
  committed(touched: readonly TouchedRange[]): void {
    if (this.#options.context.hasReplica) return
    for (const each of touched) {
      this.#heard.heard(each)
      this.#waits.committed(each)
    }
  }

  /** Another process has committed to these ranges. None: anything may have changed. */
  rung(touched: readonly TouchedRange[]): void {
    if (this.#options.context.hasReplica) return
    if (touched.length > 0) this.committed(touched)
    else {
      this.#untoldMs = this.#options.clock.monotonicMs()
      // A server that is back may have lost what was told.
      this.#heard.forget()
      this.recheck()
    }
  }

  /** Asks the server for the counters of all waiting readers. Requests during a check cause one more check. */
  recheck(): void {
    if (this.#waits.size === 0) return
    this.#looksWanted++
    this.#checking ??= this.#check()
  }

  /** Ends all waits with `error`. Resolves when nothing runs any more. */
  async end(error: Error): Promise<void> {
    this.#ended = error
    this.#waits.failAll(error)
    this.#polling?.stop.abort()
    await this.#polling?.ended
    await this.#checking
    await this.#lag.end()
  }

  /**
   * Whether every commit since the caller's last page must have been reported. After a reconnect, or a notification
   * without ranges, that page may be from before. A caller that took longer is found by the poll.
   */
  #hearsAll(): boolean {
    const sinceMs = this.#options.hearsAllSinceMs()
    if (sinceMs === undefined) return false
    return this.#options.clock.monotonicMs() - Math.max(sinceMs, this.#untoldMs) > DEAF_MS
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    let looks = -1
    while (looks !== this.#looksWanted && this.#waits.size > 0) {
      looks = this.#looksWanted
      const places = this.#waits.places()
      try {
        this.#waits.tell(places, await readCounters(this.#options.context, places))
      } catch {
        // The server cannot be asked now: readers keep waiting, and the poll asks again.
      }
    }
    // In the same step as the last question, so that no request for a check is lost.
    this.#checking = undefined
  }

  #startPolling(): void {
    if (this.#polling !== undefined) return
    const stop = new AbortController()
    const ended = this.#poll(stop.signal).finally(() => {
      this.#polling = undefined
      // A reader came while it was being stopped.
      if (this.#waits.size > 0 && this.#ended === undefined) this.#startPolling()
    })
    this.#polling = { stop, ended }
  }

  /** Runs until no reader waits, or it is stopped. Never rejects. */
  async #poll(signal: AbortSignal): Promise<void> {
    const { clock, pollIntervalMs } = this.#options
    while (this.#waits.size > 0) {
      try {
        await clock.sleep(pollIntervalMs(), signal, { purpose: 'background' })
      } catch {
        return
      }
      this.recheck()
      this.#lag.look(this.#waits.places())
    }
  }
}
