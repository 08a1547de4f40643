import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedStore } from './feed-store.ts'
import { machineMs } from './history.ts'

/** Creates documents at a fixed pace, each once, so that every change is one delivery. */
export class PacedWriter {
  /** Acknowledged: these must all be delivered. */
  readonly written: string[] = []
  readonly #store: FeedStore
  readonly #perSecond: number
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(store: FeedStore, perSecond: number) {
    this.#store = store
    this.#perSecond = perSecond
    this.#running = this.#run()
  }

  /** Stops when the writes under way are acknowledged. */
  async stop(): Promise<readonly string[]> {
    this.#stopping.abort()
    await this.#running
    return this.written
  }

  async #run(): Promise<void> {
    const started = machineMs()
    const pending = new Set<Promise<void>>()
    for (let next = 0; !this.#stopping.signal.aborted;) {
      const due = ((machineMs() - started) / 1000) * this.#perSecond
      for (; next < due; next++) {
        const write = this.#write(`order-${next}`)
        pending.add(write)
        void write.finally(() => pending.delete(write)).catch(() => {})
      }
      await sleep(5)
    }
    await Promise.all(pending)
  }

  async #write(id: string): Promise<void> {
    // The id is the key: documents spread over all ranges.
    await this.#store.orders.create({ id, note: 'paced' })
    this.written.push(id)
  }
}
