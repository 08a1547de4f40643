import type { Clock } from '@tidemark/contracts'

/** How exact a deadline is: statements are looked over this often, which costs each of them next to nothing. */
const LOOK_MS = 500

interface Entry {
  readonly atMs: number
  expire(): void
}

/** Ends what runs too long. Works while something runs, and costs nothing else. */
export class Deadlines {
  readonly #clock: Clock
  readonly #entries = new Set<Entry>()
  #loop: Promise<void> | undefined
  #stop = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `expire` once, up to half a second after `delayMs`, unless what this returns is called before. */
  add(delayMs: number, expire: () => void): () => void {
    const entry = { atMs: this.#clock.monotonicMs() + delayMs, expire }
    this.#entries.add(entry)
    this.#loop ??= this.#watch()
    return () => this.#entries.delete(entry)
  }

  /** Nothing expires any more. */
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
