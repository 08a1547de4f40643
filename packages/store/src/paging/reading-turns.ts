import { eventLoopTurn } from '../platform/event-loop-turn.ts'

/** About three milliseconds of decoding. */
const ROWS_PER_TURN = 1000
const CHARS_PER_TURN = 1024 * 1024

/**
 * Keeps a reader that goes from page to page from starving the process: an engine may read on this
 * very thread, so that its promises wait for nothing, and a loop over pages would let no timer run.
 * Leases would be lost by reading too fast. Counted in rows and not in time, so that a simulation
 * runs the same every time.
 */
export class ReadingTurns {
  #rows = 0
  #chars = 0

  /** To be called with what one row cost. */
  spend(chars: number): void {
    this.#rows++
    this.#chars += chars
  }

  /** True when the event loop is due its turn. */
  get due(): boolean {
    return this.#rows >= ROWS_PER_TURN || this.#chars >= CHARS_PER_TURN
  }

  async take(): Promise<void> {
    this.#rows = 0
    this.#chars = 0
    await eventLoopTurn()
  }
}
