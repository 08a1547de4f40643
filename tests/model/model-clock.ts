import { SteppedClock } from '@tidemark/testing'

/** A stepped clock of which a step ahead is time that passes, and a step back a clock that is set. */
export class ModelClock extends SteppedClock {
  #passedMs = 0

  override monotonicMs(): number {
    return this.#passedMs
  }

  /** The machine's clock is set: no time passes. */
  setTo(wallMs: number): void {
    super.stepTo(wallMs)
  }

  override stepTo(wallMs: number): void {
    this.#passedMs += Math.max(0, wallMs - this.wallMs())
    super.stepTo(wallMs)
  }
}
