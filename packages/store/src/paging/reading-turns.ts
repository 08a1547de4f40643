import { eventLoopTurn } from '@tidemark/contracts/internal'

/** About three milliseconds of decoding. */
const ROWS_PER_TURN = 1000
const CHARS_PER_TURN = 1024 * 1024

/**
 * Keeps a reader that reads page after page from starving the process. An engine may read on this thread, so its
 * promises resolve without a wait, and a loop over pages would let no timer run: fast reading would lose leases. Counts
 * rows and not time, so that a simulation runs the same every time.
 */
export class ReadingTurns {
  #rows = 0
  #chars = 0

  /** Call it with the cost of one row. */
  spend(chars: number): void {
    this.#rows++
    this.#chars += chars
  }

  /** True when the event loop must have its turn. */
  get due(): boolean {
    return this.#rows >= ROWS_PER_TURN || this.#chars >= CHARS_PER_TURN
  }

  async take(): Promise<void> {
    this.#rows = 0
    this.#chars = 0
    await eventLoopTurn()
  }
}
