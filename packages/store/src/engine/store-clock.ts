import type { Clock } from '@tidemark/contracts'

/** What other processes of the same boot know of a store's clock that is ahead of the wall clock. */
export interface NotedClock {
  /** Store time now, epoch ms. Undefined: nobody of this boot has noted any. */
  nowMs(): number | undefined
  /** Notes what store time is now. */
  note(nowMs: number): void
}

/** A wall clock that is this much behind is waited for, as after a correction by NTP: else the store's would stay ahead by it. */
const MAX_WAIT_MS = 1_000

/**
 * A store's clock: it never goes back, and is never below the time of a commit. Where the wall clock is behind it, since that was set
 * ahead and back, it goes on by the monotonic clock, so that times to live end.
 */
export class StoreClock {
  readonly #clock: Clock
  readonly #noted: NotedClock | undefined
  /** What was told last, and when by the monotonic clock. */
  #lastMs = 0
  #lastAtMs = 0
  /** The wall clock is behind: store time at a monotonic time. */
  #ahead: { readonly fromMs: number; readonly atMs: number } | undefined

  constructor(clock: Clock, noted?: NotedClock) {
    this.#clock = clock
    this.#noted = noted
  }

  nowMs(atLeastMs = 0): number {
    const wallMs = Math.floor(this.#clock.wallMs())
    const atMs = this.#clock.monotonicMs()
    if (wallMs >= Math.max(this.#lastMs, atLeastMs, this.#runsTo(atMs))) {
      this.#ahead = undefined
      this.#lastMs = wallMs
    } else if (
      this.#ahead === undefined &&
      Math.max(this.#lastMs, atLeastMs) <= wallMs + MAX_WAIT_MS
    ) {
      this.#lastMs = Math.max(this.#lastMs, atLeastMs)
    } else {
      this.#ahead ??= this.#begin({ wallMs, atLeastMs, atMs })
      if (atLeastMs > this.#runsTo(atMs)) this.#ahead = { fromMs: atLeastMs, atMs }
      this.#lastMs = Math.max(this.#lastMs, Math.floor(this.#runsTo(atMs)))
    }
    this.#lastAtMs = atMs
    return this.#lastMs
  }

  #runsTo(atMs: number): number {
    return this.#ahead === undefined ? 0 : this.#ahead.fromMs + atMs - this.#ahead.atMs
  }

  #begin({ wallMs, atLeastMs, atMs }: Readonly<Record<'wallMs' | 'atLeastMs' | 'atMs', number>>): {
    readonly fromMs: number
    readonly atMs: number
  } {
    const isNew = this.#lastMs === 0
    const fromMs = Math.max(isNew ? 0 : this.#lastMs + atMs - this.#lastAtMs, atLeastMs)
    const notedMs = this.#noted?.nowMs() ?? 0
    // What was noted may be of a jump that no commit saw: it counts where commits are ahead as well, and not by much less.
    const isOfCommits = notedMs - wallMs <= 2 * (fromMs - wallMs)
    if (isNew && notedMs >= fromMs && isOfCommits) return { fromMs: notedMs, atMs }
    this.#noted?.note(fromMs)
    return { fromMs, atMs }
  }
}
