import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, type DocumentCollection } from '@tidemark/contracts'
import type { RemoteEvent } from './gateway-tasks.ts'

/**
 * Each key's changes one after the other, over HTTP. A write whose outcome nobody knows is done again: the document
 * is then there already, or is made now.
 */
export class RemoteWriter {
  /** Acknowledged: these must all be done, each key's in this order. */
  readonly written: string[] = []
  readonly #events: DocumentCollection<RemoteEvent>
  readonly #stopping = new AbortController()
  readonly #running: Promise<unknown>

  constructor(
    events: DocumentCollection<RemoteEvent>,
    { keys, pauseMs }: { readonly keys: number; readonly pauseMs: number },
  ) {
    this.#events = events
    const names = Array.from({ length: keys }, (_, index) => `k${index}`)
    this.#running = Promise.all(names.map((key) => this.#write(key, pauseMs)))
  }

  async stop(): Promise<readonly string[]> {
    this.#stopping.abort()
    await this.#running
    return this.written
  }

  async #write(key: string, pauseMs: number): Promise<void> {
    for (let number = 0; !this.#stopping.signal.aborted; number++) {
      const id = `${key}:${number}`
      await this.#create({ id, key })
      this.written.push(id)
      await sleep(Math.random() * 2 * pauseMs)
    }
  }

  async #create(event: RemoteEvent): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#events.create(event)
        return
      } catch (error) {
        if (attempt > 1 && errorCode(error) === 'ERR_EXISTS') return
        if (errorCode(error) !== 'ERR_STORE_UNAVAILABLE') throw error
        await sleep(50)
      }
    }
  }
}
