import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { KeyedEvent } from '../ranges/keyed-store.ts'

const KEYS = 60
const RETRY_MS = 20

/**
 * Writes without end: each key's changes one after the other, the next when the one before is acknowledged. A write
 * that fails is tried again until it is there, so that a store that is away for a while only delays it.
 */
export class Load {
  /** Acknowledged: these must all be delivered, each key's in this order. */
  readonly written: string[] = []
  /** Tries that failed. */
  failures = 0
  readonly #stopping = new AbortController()
  readonly #running: Promise<unknown>

  constructor(events: Collection<KeyedEvent>, perSecond: number) {
    this.#running = Promise.all(
      Array.from({ length: KEYS }, (_, index) => this.#writeKey(events, `k${index}`, perSecond)),
    )
  }

  /** Resolves when every write that was begun is acknowledged. What fails from now on is tried again all the same. */
  async stop(): Promise<readonly string[]> {
    this.#stopping.abort()
    await this.#running
    return this.written
  }

  async #writeKey(events: Collection<KeyedEvent>, key: string, perSecond: number): Promise<void> {
    const pauseMs = (KEYS / perSecond) * 1000
    for (let number = 0; !this.#stopping.signal.aborted; number++) {
      const id = `${key}:${number}`
      await this.#untilWritten(events, { id, key })
      this.written.push(id)
      await sleep(Math.random() * 2 * pauseMs)
    }
  }

  async #untilWritten(events: Collection<KeyedEvent>, event: KeyedEvent): Promise<void> {
    for (;;) {
      try {
        await events.create(event)
        return
      } catch (error) {
        // The one before, of which nobody knew the outcome.
        if (errorCode(error) === 'ERR_EXISTS') return
        this.failures += 1
        await sleep(RETRY_MS)
      }
    }
  }
}
