import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { MessageBodies } from '../message-bodies.ts'
import type { CalledQueue } from '../queue-rates.ts'
import type { BareCommand, BareMessage } from './bare-queue-commands.ts'
import type { BareReply, BareRequest } from './bare-queue.worker.ts'

/** The bare queue, with a writer thread that puts all waiting calls into one commit. */
export class BareQueue implements CalledQueue {
  readonly #worker: Worker
  readonly #bodies = new MessageBodies()
  readonly #waiting = new Map<number, (messages: readonly BareMessage[]) => void>()
  #outbox: BareRequest[] = []
  #nextTicket = 1

  constructor(folder: string) {
    this.#worker = new Worker(new URL('./bare-queue.worker.ts', import.meta.url), {
      workerData: join(folder, 'bare-queue.db'),
    })
    this.#worker.on('message', (replies: readonly BareReply[]) => {
      for (const { ticket, messages } of replies) {
        this.#waiting.get(ticket)?.(messages)
        this.#waiting.delete(ticket)
      }
    })
  }

  async send(count: number): Promise<void> {
    const bodies = this.#bodies.many(count).map((body) => JSON.stringify(body))
    await this.#perform({ kind: 'send', bodies })
  }

  async take(count: number): Promise<number> {
    const lock = randomUUID()
    const messages = await this.#perform({ kind: 'take', count, lock })
    for (const { body } of messages) JSON.parse(body)
    if (messages.length > 0) {
      await this.#perform({ kind: 'complete', ids: messages.map(({ id }) => id), lock })
    }
    return messages.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#worker.postMessage('close')
    await once(this.#worker, 'exit')
  }

  /** Resolves when it is durable. One message to the thread for all calls of this turn. */
  #perform(command: BareCommand): Promise<readonly BareMessage[]> {
    const ticket = this.#nextTicket++
    if (this.#outbox.length === 0) {
      queueMicrotask(() => {
        const requests = this.#outbox
        this.#outbox = []
        this.#worker.postMessage(requests)
      })
    }
    this.#outbox.push({ ticket, command })
    return new Promise((resolve) => this.#waiting.set(ticket, resolve))
  }
}
