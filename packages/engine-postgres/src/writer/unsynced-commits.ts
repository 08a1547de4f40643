import { StoreUnavailableError, type Clock } from '@tidemark/contracts'
import { nullableNumberColumn } from '../connection/columns.ts'
import type { ReadContext } from '../reader/read-context.ts'

/** When commits are made durable that nobody asked for. */
const FLUSH_AFTER_MS = 200
/** For so long after a loss no flush succeeds: whoever lost commits learns it from their etags meanwhile. */
const LOSS_MS = 30_000
/** How long the last flush may take, with the one that is under way. */
const END_MS = 1_000
const FLUSH = 'SELECT :schema.flush_commits()'

export interface UnsyncedCommitsOptions {
  readonly context: Pick<ReadContext, 'connections' | 'statements'>
  readonly clock: Clock
}

/**
 * The commits of one database that did not wait for the disk. Every synced commit makes durable what was committed
 * before it, since the log is written in order. After some time without one, they are flushed.
 */
export class UnsyncedCommits {
  readonly #options: UnsyncedCommitsOptions
  readonly #stop = new AbortController()
  #newest = 0
  #durable = 0
  /** Of the newest. */
  #timeline: number | undefined
  #lostAtMs = -Infinity
  #flushing: Promise<void> | undefined
  #isFlushDue = false

  constructor(options: UnsyncedCommitsOptions) {
    this.#options = options
  }

  /** Number of the newest one that was acknowledged. */
  get newest(): number {
    return this.#newest
  }

  /** A group was acknowledged. `timeline`: of the server. */
  made(timeline: number): void {
    this.#saw(timeline)
    this.#newest++
    this.#timeline = timeline
    if (!this.#isFlushDue) void this.#flushLater()
  }

  /** A synced commit was acknowledged that was sent when `newest` was that. */
  synced(newest: number, timeline: number | null): void {
    this.#saw(timeline)
    this.#durable = Math.max(this.#durable, newest)
  }

  /**
   * Resolves when all that were made before the call are durable. Rejects with ERR_STORE_UNAVAILABLE when the server
   * cannot be reached, or when it ended and lost some of them, perhaps of another caller.
   */
  async flush(): Promise<void> {
    const newest = this.#newest
    while (this.#durable < newest) {
      this.#flushing ??= this.#flush().finally(() => (this.#flushing = undefined))
      await this.#flushing
    }
    if (this.#options.clock.monotonicMs() - this.#lostAtMs < LOSS_MS) {
      throw new StoreUnavailableError('the server ended before some commits were on its disk')
    }
  }

  /** Flushes for the last time. Never rejects. */
  async end(): Promise<void> {
    this.#stop.abort()
    if (this.#durable === this.#newest) return
    const ended = new AbortController()
    const limit = this.#options.clock.sleep(END_MS, ended.signal, BACKGROUND).catch(() => {})
    await Promise.race([this.flush().catch(() => {}), limit])
    ended.abort()
  }

  async #flush(): Promise<void> {
    const { connections, statements } = this.#options.context
    const newest = this.#newest
    const [row = []] = await connections.write(statements.of(FLUSH))
    this.synced(newest, nullableNumberColumn(row, 0))
  }

  /** Never rejects. */
  async #flushLater(): Promise<void> {
    const { clock } = this.#options
    this.#isFlushDue = true
    while (this.#durable < this.#newest && !this.#stop.signal.aborted) {
      const newest = this.#newest
      await clock.sleep(FLUSH_AFTER_MS, this.#stop.signal, BACKGROUND).catch(() => {})
      // Where the server is away, it is tried again after the next pause.
      if (this.#durable < newest) await this.flush().catch(() => {})
    }
    this.#isFlushDue = false
  }

  /** What was made on another timeline and is not known to be durable may be lost. */
  #saw(timeline: number | null): void {
    if (this.#durable === this.#newest || timeline === this.#timeline) return
    this.#durable = this.#newest
    this.#lostAtMs = this.#options.clock.monotonicMs()
  }
}

const BACKGROUND = { purpose: 'background' } as const
