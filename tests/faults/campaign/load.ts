import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { KeyedEvent } from '../ranges/keyed-store.ts'

const KEYS = 60
const RETRY_MS = 20

export interface LoadOptions {
  readonly perSecond: number
  readonly keyPrefix: string
  /** A write was acknowledged. Those of one key come in order. */
  readonly onWritten: (event: KeyedEvent) => void
}

/**
 * Writes without end: each key's changes one after the other, the next when the one before is acknowledged. A write
 * that fails is tried again until it is there, so that a store that is away for a while only delays it.
 */
export class Load {
  /** Tries that failed. */
  failures = 0
  readonly #stopping = new AbortController()
  readonly #onWritten: LoadOptions['onWritten']
  readonly #running: Promise<unknown>

  constructor(events: Collection<KeyedEvent>, { perSecond, keyPrefix, onWritten }: LoadOptions) {
    this.#onWritten = onWritten
    this.#running = Promise.all(
      Array.from({ length: KEYS }, (_, index) =>
        this.#writeKey(events, `${keyPrefix}${index}`, perSecond),
      ),
    )
  }

  /** Resolves when every write that was begun is acknowledged. What fails from now on is tried again all the same. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #writeKey(events: Collection<KeyedEvent>, key: string, perSecond: number): Promise<void> {
    const pauseMs = (KEYS / perSecond) * 1000
    for (let number = 0; !this.#stopping.signal.aborted; number++) {
      const event = { id: `${key}:${number}`, key }
      await this.#untilWritten(events, event)
      this.#onWritten(event)
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
