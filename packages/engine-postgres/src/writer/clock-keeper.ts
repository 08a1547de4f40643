import type { ReadContext } from '../reader/read-context.ts'

const KEEP = `UPDATE :schema.database SET clock = $2 WHERE number = $1 AND clock < $2`
/** How far the stored clock may be behind: only a server's clock that is set back meets it. */
const KEEP_EVERY_MS = 1000

/**
 * Stores, about once a second, how far the server's clock was when it judged about expiry, so that it does
 * not go back with it. Beside the commits: a row that all of them moved would make them wait for each other.
 */
export class ClockKeeper {
  readonly #context: ReadContext
  readonly #keptMs = new Map<number, number>()
  readonly #running = new Set<Promise<void>>()

  constructor(context: ReadContext) {
    this.#context = context
  }

  keep(database: number, timeMs: number): void {
    const { clock } = this.#context
    // Where processes have clocks of their own every commit stores it.
    if (clock.isOwn || timeMs < (this.#keptMs.get(database) ?? 0) + KEEP_EVERY_MS) return
    this.#keptMs.set(database, timeMs)
    const running = this.#keep(database, timeMs).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  async #keep(database: number, timeMs: number): Promise<void> {
    const { connections, statements } = this.#context
    try {
      await connections.write(statements.of(KEEP), [database, timeMs])
    } catch {
      // The next commit, or the sweep, does it.
      this.#keptMs.delete(database)
    }
  }
}
