import type { CheckpointFrequency } from './pump-options.ts'

/** Decides when a processed position is to be stored (PH-5). */
export class CheckpointSchedule {
  readonly #policy: CheckpointFrequency
  #changes = 0
  #lastMs: number

  constructor(policy: CheckpointFrequency, nowMs: number) {
    this.#policy = policy
    this.#lastMs = nowMs
  }

  /** Whether a crash may repeat one batch at most: then the next one waits for the store. */
  get waitsForStore(): boolean {
    return this.#policy === 'everyBatch'
  }

  /** Whether the host stores positions of its own accord, also on close. */
  get isAutomatic(): boolean {
    return this.#policy !== 'manual'
  }

  processed(changes: number): void {
    this.#changes += changes
  }

  /** Time from `nowMs` until what was processed is due; 0 = now; Infinity = not by time. */
  dueInMs(nowMs: number): number {
    if (this.#changes === 0 || this.#policy === 'manual') return Infinity
    if (this.#policy === 'everyBatch') return 0
    if ('everyChanges' in this.#policy) {
      return this.#changes >= this.#policy.everyChanges ? 0 : Infinity
    }
    return Math.max(0, this.#lastMs + this.#policy.everyMs - nowMs)
  }

  requested(nowMs: number): void {
    this.#changes = 0
    this.#lastMs = nowMs
  }
}
