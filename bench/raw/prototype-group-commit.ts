import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { PrototypeWrite } from './prototype-schema.ts'

/** The prototype with a writer thread that puts all waiting batches into one commit. */
export class PrototypeGroupCommit implements AsyncDisposable {
  readonly file: string
  readonly #worker: Worker
  readonly #waiting = new Map<number, () => void>()
  #outbox: { ticket: number; batch: readonly PrototypeWrite[] }[] = []
  #nextTicket = 1

  constructor(folder: string, file = 'prototype.db') {
    this.file = join(folder, file)
    this.#worker = new Worker(new URL('./prototype-group-commit.worker.ts', import.meta.url), {
      workerData: this.file,
    })
    this.#worker.on('message', (tickets: readonly number[]) => {
      for (const ticket of tickets) {
        this.#waiting.get(ticket)?.()
        this.#waiting.delete(ticket)
      }
    })
  }

  /** Resolves when the batch is durable. */
  write(batch: readonly PrototypeWrite[]): Promise<void> {
    const ticket = this.#nextTicket++
    if (this.#outbox.length === 0) queueMicrotask(() => this.#flush())
    this.#outbox.push({ ticket, batch })
    return new Promise((resolve) => this.#waiting.set(ticket, resolve))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#worker.postMessage('close')
    await once(this.#worker, 'exit')
  }

  /** One message for all writes of this turn. */
  #flush(): void {
    const requests = this.#outbox
    this.#outbox = []
    this.#worker.postMessage(requests)
  }
}
