import type { Clock } from '@tidemark/contracts'
import type { PumpNotice } from '../feed-processing/pump-events.ts'

/** What the work on one lease has come to, by what its pump tells. */
export class LeaseProgress {
  readonly #clock: Clock
  #changes = 0
  #batches = 0
  #busyMs = 0
  #lastProgressMs: number | undefined
  /** Monotonic time since which nothing has come forward. */
  #sinceMs: number
  #isHalted = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  /** Changes that the observer accepted. */
  get changes(): number {
    return this.#changes
  }

  /** Calls in which it accepted them. */
  get batches(): number {
    return this.#batches
  }

  /** Time in those calls. */
  get busyMs(): number {
    return this.#busyMs
  }

  /** Wall time at which it last accepted some, epoch ms. */
  get lastProgressMs(): number | undefined {
    return this.#lastProgressMs
  }

  /** How long nothing was read, and nothing accepted. */
  get restMs(): number {
    return this.#clock.monotonicMs() - this.#sinceMs
  }

  note(notice: PumpNotice): void {
    switch (notice.kind) {
      case 'batchDone':
        this.#changes += notice.changes
        this.#batches += 1
        this.#busyMs += notice.durationMs
        this.#lastProgressMs = this.#clock.wallMs()
        this.#cameForward()
        return
      case 'batchRead':
        this.#isHalted = false
        this.#cameForward()
        return
      case 'deadLettered':
      case 'resynchronized':
        this.#cameForward()
        return
      case 'feedError':
        // The first of a series: until then it had read all that there was, or it was at work.
        if (notice.attempt === 1) this.#cameForward()
        return
      case 'horizonPassed':
        // Told again and again, while what was read before may still be at work.
        if (!this.#isHalted) this.#cameForward()
        this.#isHalted = true
        return
      default:
        return
    }
  }

  #cameForward(): void {
    this.#sinceMs = this.#clock.monotonicMs()
  }
}
