import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { InvalidOptionError, StoreClosedError, StoreUnavailableError } from '@tidemark/contracts'
import { errorFromPortable } from '../connection/sqlite-error.ts'
import { unpackReplies } from '../writer/committed-replies.ts'
import type {
  FromWriter,
  ToWriter,
  WriterRequest,
  WriterResult,
  WriterSettings,
  WriterTask,
  WriterThreadData,
} from '../writer/writer-messages.ts'

interface Pending {
  resolve(result: WriterResult): void
  reject(error: Error): void
}

/** The caller's end of a writer's thread: sends requests together, settles them in the order of their groups. */
export class WriterClient {
  readonly #worker: Worker
  readonly #bell: Int32Array
  readonly #maxPending: number
  readonly #pending = new Map<number, Pending>()
  readonly #ready = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #outbox: WriterRequest[] = []
  #nextId = 1
  /** Set when the thread is of no more use: why. */
  #broken: Error | undefined

  private constructor(settings: WriterSettings, maxPending: number) {
    this.#maxPending = maxPending
    this.#bell = new Int32Array(new SharedArrayBuffer(4))
    const workerData: WriterThreadData = { settings, bell: this.#bell }
    this.#worker = new Worker(threadFile(), { workerData })
    this.#worker.unref()
    this.#worker.on('message', (message: FromWriter) => this.#receive(message))
    this.#worker.on('error', (error: unknown) => this.#break(error))
    this.#worker.on('exit', () => {
      this.#break(new Error('the thread ended'))
      this.#ended.resolve()
    })
  }

  /** Starts the thread. Rejects with the coded error of a file that cannot be opened. */
  static async start(settings: WriterSettings, maxPending: number): Promise<WriterClient> {
    const client = new WriterClient(settings, maxPending)
    client.#worker.ref()
    try {
      await client.#ready.promise
    } finally {
      client.#worker.unref()
    }
    return client
  }

  /** Rejects with ERR_STORE_CLOSED, or ERR_STORE_UNAVAILABLE when too many requests wait already. */
  async request(task: WriterTask, nowMs: number): Promise<WriterResult> {
    if (this.#broken !== undefined) throw this.#broken
    if (this.#pending.size >= this.#maxPending) {
      throw new StoreUnavailableError(`${this.#maxPending} writes wait for the disk already`)
    }
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<WriterResult>()
    const isIdle = this.#pending.size === 0
    if (isIdle) this.#worker.ref()
    this.#pending.set(id, { resolve, reject })
    this.#outbox.push({ id, nowMs, task })
    if (this.#outbox.length === 1) this.#flushSoon(isIdle)
    const result = await promise
    if (result.kind === 'failed') throw errorFromPortable(result.error)
    return result
  }

  /** Carries out what was requested, then ends the thread. */
  async close(): Promise<void> {
    this.#flush()
    if (this.#broken === undefined) {
      this.#broken = new StoreClosedError('the store was closed')
      this.#worker.ref()
      this.#post({ kind: 'close' })
    }
    await this.#ended.promise
  }

  #flushSoon(isIdle: boolean): void {
    // After the promise callbacks that are running now: writers that were woken together write together.
    if (isIdle) process.nextTick(() => this.#flush())
    // The thread has something to do: what other sockets have in this turn of the loop goes in the same message.
    else setImmediate(() => this.#flush())
  }

  #flush(): void {
    if (this.#outbox.length === 0) return
    const requests = this.#outbox
    this.#outbox = []
    this.#post({ kind: 'requests', requests })
  }

  #post(message: ToWriter): void {
    this.#worker.postMessage(message)
    Atomics.add(this.#bell, 0, 1)
    Atomics.notify(this.#bell, 0)
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case 'ready':
        this.#ready.resolve()
        return
      case 'broken':
        this.#break(errorFromPortable(message.error))
        return
      case 'closed':
        return
      case 'replies':
        unpackReplies(message.committed, (id, result) => this.#settle(id, result))
        for (const { id, result } of message.others) this.#settle(id, result)
        // While it is being closed, its end is waited for: the process must not end before.
        if (this.#pending.size === 0 && this.#broken === undefined) this.#worker.unref()
    }
  }

  #settle(id: number, result: WriterResult): void {
    this.#pending.get(id)?.resolve(result)
    this.#pending.delete(id)
  }

  #break(cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const broken = (this.#broken ??= new StoreUnavailableError(`the writer stopped: ${reason}`, {
      cause,
    }))
    this.#ready.reject(cause)
    for (const pending of this.#pending.values()) pending.reject(broken)
    this.#pending.clear()
  }
}

/**
 * Beside this file, in the sources as in what is published. In a bundle it is beside the bundle if it was made an
 * entry of its own, else where the package is installed.
 */
function threadFile(): URL {
  // A bundle of CommonJS has no import.meta.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href
  const extension = here.endsWith('.ts') ? 'ts' : 'js'
  const beside = new URL(`./writer-thread.${extension}`, here)
  if (existsSync(beside)) return beside
  try {
    return new URL(import.meta.resolve('@tidemark/engine-sqlite/writer-thread'))
  } catch (cause) {
    throw new InvalidOptionError(
      `${beside.pathname} is missing: make @tidemark/engine-sqlite/writer-thread an entry of your bundle, beside the program`,
      { cause },
    )
  }
}
