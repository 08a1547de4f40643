import type { Clock } from '@tidemark/contracts'

/** Precision of a deadline: statements are checked at this interval, which costs almost nothing. */
const LOOK_MS = 500

interface Entry {
  readonly atMs: number
  expire(): void
}

/** Ends statements that run too long. Active only while something runs. */
export class Deadlines {
  readonly #clock: Clock
  readonly #entries = new Set<Entry>()
  #loop: Promise<void> | undefined
  #stop = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `expire` once, up to half a second after `delayMs`, unless the returned function is called first. */
  add(delayMs: number, expire: () => void): () => void {
    const entry = { atMs: this.#clock.monotonicMs() + delayMs, expire }
    this.#entries.add(entry)
    this.#loop ??= this.#watch()
    return () => this.#entries.delete(entry)
  }

  /** From now on, nothing expires. */
  async stop(): Promise<void> {
    this.#entries.clear()
    this.#stop.abort()
    await this.#loop
  }

  async #watch(): Promise<void> {
    while (this.#entries.size > 0 && !this.#stop.signal.aborted) {
      try {
        await this.#clock.sleep(LOOK_MS, this.#stop.signal, { purpose: 'background' })
      } catch {
        break
      }
      const nowMs = this.#clock.monotonicMs()
      for (const entry of this.#entries) {
        if (entry.atMs > nowMs) continue
        this.#entries.delete(entry)
        entry.expire()
      }
    }
    this.#loop = undefined
  }
}
