import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { InvalidOptionError, StoreClosedError, StoreUnavailableError } from '@tidemark/contracts'
import { commitChars } from '@tidemark/store/engine'
import { errorFromPortable } from '../connection/sqlite-error.ts'
import { unpackReplies } from '../writer/committed-replies.ts'
import type {
  FromWriter,
  LogNotice,
  ToWriter,
  WriterReply,
  WriterRequest,
  WriterResult,
  WriterSettings,
  WriterTask,
  WriterThreadData,
} from '../writer/writer-messages.ts'

interface Pending {
  readonly chars: number
  readonly acceptedMs: number
  resolve(result: WriterResult): void
  reject(error: Error): void
}

/**
 * Characters of texts that are on their way at most: a message is copied at once, on the caller's thread. Enough for
 * the group that is being written and the one after it; a single request may be larger.
 */
const MAX_SENT_CHARS: number = 16 * 2 ** 20

export interface WriterClientOptions {
  /** Requests that may wait. */
  readonly maxPending: number
  readonly onNotice: (notice: LogNotice) => void
}

/** The caller's end of a writer's thread: sends requests together, settles them in the order of their groups. */
export class WriterClient {
  readonly #worker: Worker
  readonly #bell: Int32Array
  readonly #maxPending: number
  readonly #onNotice: (notice: LogNotice) => void
  readonly #lockTimeoutMs: number
  readonly #pending = new Map<number, Pending>()
  readonly #ready = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #outbox: WriterRequest[] = []
  #isFlushDue = false
  /** The thread is to end once it has everything. */
  #isClosing = false
  /** Of the requests that the thread has and did not answer. */
  #sentChars = 0
  #nextId = 1
  /** Set when the thread is of no more use: why. */
  #broken: Error | undefined

  private constructor(settings: WriterSettings, { maxPending, onNotice }: WriterClientOptions) {
    this.#maxPending = maxPending
    this.#onNotice = onNotice
    this.#lockTimeoutMs = settings.lockTimeoutMs
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
  static async start(
    settings: WriterSettings,
    options: WriterClientOptions,
  ): Promise<WriterClient> {
    const client = new WriterClient(settings, options)
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
    const chars = textChars(task)
    const { promise, resolve, reject } = Promise.withResolvers<WriterResult>()
    const isIdle = this.#pending.size === 0
    if (isIdle) this.#worker.ref()
    this.#pending.set(id, { chars, acceptedMs: performance.now(), resolve, reject })
    this.#outbox.push({ id, nowMs, chars, task })
    this.#flushSoon(isIdle)
    const result = await promise
    if (result.kind === 'failed') throw errorFromPortable(result.error)
    return result
  }

  /** Carries out what was requested, then ends the thread. */
  async close(): Promise<void> {
    if (this.#broken === undefined) {
      this.#broken = new StoreClosedError('the store was closed')
      this.#isClosing = true
      this.#worker.ref()
      this.#flush()
    }
    await this.#ended.promise
  }

  #flushSoon(isIdle: boolean): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    const flush = (): void => {
      this.#isFlushDue = false
      this.#flush()
    }
    // After the promise callbacks that are running now: writers that were woken together write together.
    if (isIdle) process.nextTick(flush)
    // The thread has something to do: what other sockets have in this turn of the loop goes in the same message.
    else setImmediate(flush)
  }

  /** Sends what there is room for; the rest follows when the thread has answered. */
  #flush(): void {
    const fitting = this.#outbox.findIndex(({ chars }) => {
      if (this.#sentChars > 0 && this.#sentChars + chars > MAX_SENT_CHARS) return true
      this.#sentChars += chars
      return false
    })
    const requests = fitting === -1 ? this.#outbox : this.#outbox.slice(0, fitting)
    this.#outbox = fitting === -1 ? [] : this.#outbox.slice(fitting)
    if (requests.length > 0) this.#post({ kind: 'requests', requests })
    if (!this.#isClosing || this.#outbox.length > 0) return
    this.#isClosing = false
    this.#post({ kind: 'close' })
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
      case 'notice':
        this.#onNotice(message.notice)
        return
      case 'closed':
        return
      case 'replies':
        unpackReplies(message.committed, (id, result) => this.#settle(id, result))
        for (const { id, result } of message.others) this.#settle(id, result)
        this.#refuseOverdue(message.others.find(isLockedOut)?.result)
        this.#flush()
        // While it is being closed, its end is waited for: the process must not end before.
        if (this.#pending.size === 0 && this.#broken === undefined) this.#worker.unref()
    }
  }

  #settle(id: number, result: WriterResult): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    this.#sentChars -= pending.chars
    pending.resolve(result)
  }

  /** Who waited here for as long as the thread for the lock does not wait as long again. */
  #refuseOverdue(locked: WriterResult | undefined): void {
    if (locked === undefined) return
    const acceptedBeforeMs = performance.now() - this.#lockTimeoutMs
    this.#outbox = this.#outbox.filter(({ id }) => {
      const pending = this.#pending.get(id)
      if (pending === undefined || pending.acceptedMs > acceptedBeforeMs) return true
      this.#pending.delete(id)
      pending.resolve(locked)
      return false
    })
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

function isLockedOut({ result }: WriterReply): boolean {
  return result.kind === 'failed' && result.error.kind === 'locked'
}

function textChars(task: WriterTask): number {
  return task.kind === 'commit' ? commitChars(task.batches) : 0
}

/**
 * Beside this file, in the sources as in what is published. In a bundle it is beside the bundle if it was made an
 * entry of its own, else where the package is installed.
 */
export function threadFile(): URL {
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
