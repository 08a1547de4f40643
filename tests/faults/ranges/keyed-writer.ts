import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection } from '@tidemark/store'
import type { KeyedEvent } from './keyed-store.ts'

/** Each key's changes one after the other: the next begins when the one before is acknowledged. */
export class KeyedWriter {
  /** Acknowledged: these must all be delivered, each key's in this order. */
  readonly written: string[] = []
  readonly #stopping = new AbortController()
  readonly #running: Promise<unknown>

  constructor(
    events: Collection<KeyedEvent>,
    { keys, pauseMs }: { readonly keys: number; readonly pauseMs: number },
  ) {
    this.#running = Promise.all(
      Array.from({ length: keys }, (_, index) =>
        this.#write(events, { key: `k${index}`, pauseMs }),
      ),
    )
  }

  async stop(): Promise<readonly string[]> {
    this.#stopping.abort()
    await this.#running
    return this.written
  }

  async #write(
    events: Collection<KeyedEvent>,
    { key, pauseMs }: { readonly key: string; readonly pauseMs: number },
  ): Promise<void> {
    for (let number = 0; !this.#stopping.signal.aborted; number++) {
      const id = `${key}:${number}`
      await events.create({ id, key })
      this.written.push(id)
      await sleep(Math.random() * 2 * pauseMs)
    }
  }
}
