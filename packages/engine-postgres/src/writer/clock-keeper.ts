import type { ReadContext } from '../reader/read-context.ts'

const KEEP = `UPDATE :schema.database SET clock = $2 WHERE number = $1 AND clock < $2`
/** How far the stored clock can be behind. This matters only when a server's clock is set back. */
const KEEP_EVERY_MS = 1000

/**
 * Stores, about once a second, the server's clock when it last judged expiry, so that the store's clock does not go
 * back with it. Outside of the commits: a row that all of them changed would make them wait for each other.
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
    // Where processes have their own clocks, every commit stores the time.
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
