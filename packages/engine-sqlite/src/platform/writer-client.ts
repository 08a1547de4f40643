import type { Worker } from 'node:worker_threads'
import { StoreClosedError, StoreUnavailableError } from '@tidemark/contracts'
import { errorFromPortable } from '../connection/sqlite-error.ts'
import { unpackReplies } from '../writer/committed-replies.ts'
import { packRequests } from '../writer/packed-requests.ts'
import { settledEach, textChars, type Settling, type TaskWriter } from '../writer/task-writer.ts'
import type {
  FromWriter,
  LogNotice,
  ToWriter,
  WriterReply,
  WriterRequest,
  WriterResult,
  WriterSettings,
  WriterTask,
} from '../writer/writer-messages.ts'
import { keepSpareThread, takeThread } from './writer-threads.ts'

interface Pending {
  readonly chars: number
  readonly acceptedMs: number
  readonly settling: Settling
}

/**
 * Maximum number of characters of texts in transit: a message is copied at once, on the caller's thread. Enough for the
 * group that is being written and the next one. A single request can be larger.
 */
const MAX_SENT_CHARS: number = 16 * 2 ** 20

export interface WriterClientOptions {
  /** Maximum number of waiting requests. */
  readonly maxPending: number
  readonly onNotice: (notice: LogNotice) => void
}

/** The caller's end of a writer's thread. Sends requests together, and settles them in the order of their groups. */
export class WriterClient implements TaskWriter {
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
  /** The thread ends once it has everything. */
  #isClosing = false
  /** Of the requests that the thread has not answered yet. */
  #sentChars = 0
  /** Everything that the thread has answered. */
  #isOnDisk = true
  #nextId = 1
  /** Set when the thread ended without a sync that it owed. */
  #unsynced: Error | undefined
  /** Set when the thread can no longer be used: the reason. */
  #broken: Error | undefined

  private constructor(settings: WriterSettings, { maxPending, onNotice }: WriterClientOptions) {
    this.#maxPending = maxPending
    this.#onNotice = onNotice
    this.#lockTimeoutMs = settings.lockTimeoutMs
    this.#bell = new Int32Array(new SharedArrayBuffer(4))
    this.#worker = takeThread()
    this.#worker.on('message', (message: FromWriter) => this.#receive(message))
    this.#worker.on('error', (error: unknown) => this.#break(error))
    this.#worker.on('exit', () => this.#end())
    this.#post({ kind: 'open', settings, bell: this.#bell })
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

  async request(task: WriterTask, nowMs: number): Promise<WriterResult> {
    this.#assertRoom()
    const { promise, resolve, reject } = Promise.withResolvers<WriterResult>()
    this.#accept(task, nowMs, { resolve, reject })
    const result = await promise
    if (result.kind === 'failed') throw errorFromPortable(result.error)
    return result
  }

  async requestEach(
    tasks: readonly WriterTask[],
    nowMs: number,
  ): Promise<readonly (WriterResult | Error)[]> {
    this.#assertRoom()
    return settledEach(tasks, (task, settling) => this.#accept(task, nowMs, settling))
  }

  async flush(): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken
    if (!this.#isOnDisk) await this.request({ kind: 'flush' }, 0)
  }

  /** Carries out the accepted requests, then closes the file. Rejects when commits that it answered cannot be synced. */
  async close(): Promise<void> {
    if (this.#broken === undefined) {
      this.#broken = new StoreClosedError('the store was closed')
      this.#isClosing = true
      this.#worker.ref()
      this.#flush()
    }
    await this.#ended.promise
    if (this.#unsynced !== undefined) throw this.#unsynced
  }

  #assertRoom(): void {
    if (this.#broken !== undefined) throw this.#broken
    if (this.#pending.size < this.#maxPending) return
    throw new StoreUnavailableError(`${this.#maxPending} writes are already waiting for the disk`)
  }

  #accept(task: WriterTask, nowMs: number, settling: Settling): void {
    const id = this.#nextId++
    const chars = textChars(task)
    const isIdle = this.#pending.size === 0
    if (isIdle) this.#worker.ref()
    this.#pending.set(id, { chars, acceptedMs: performance.now(), settling })
    this.#outbox.push({ id, nowMs, chars, task })
    this.#flushSoon(isIdle)
  }

  #flushSoon(isIdle: boolean): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    const flush = (): void => {
      this.#isFlushDue = false
      this.#flush()
    }
    // After the promise callbacks that are running now: writers that wake together write together.
    if (isIdle) process.nextTick(flush)
    // The thread is busy: what other sockets have in this turn of the loop goes into the same message.
    else setImmediate(flush)
  }

  /** Sends what there is room for. The rest follows when the thread has answered. */
  #flush(): void {
    const fitting = this.#outbox.findIndex(({ chars }) => {
      if (this.#sentChars > 0 && this.#sentChars + chars > MAX_SENT_CHARS) return true
      this.#sentChars += chars
      return false
    })
    const requests = fitting === -1 ? this.#outbox : this.#outbox.slice(0, fitting)
    this.#outbox = fitting === -1 ? [] : this.#outbox.slice(fitting)
    if (requests.length > 0) this.#post({ kind: 'requests', ...packRequests(requests) })
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
      case 'synced':
        this.#isOnDisk = true
        return
      case 'closed':
        this.#isOnDisk = true
        keepSpareThread(this.#worker)
        this.#end()
        return
      case 'replies':
        this.#isOnDisk = message.onDisk
        unpackReplies(message.committed, (id, result) => this.#settle(id, result))
        for (const { id, result } of message.others) this.#settle(id, result)
        this.#refuseOverdue(message.others.find(isLockedOut)?.result)
        this.#flush()
        // While the client is closing, it waits for the end of the thread: the process must not end before.
        if (this.#pending.size === 0 && this.#broken === undefined) this.#worker.unref()
    }
  }

  #settle(id: number, result: WriterResult): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    this.#sentChars -= pending.chars
    pending.settling.resolve(result)
  }

  /** A request that has waited here as long as the thread waited for the lock does not wait that long again. */
  #refuseOverdue(locked: WriterResult | undefined): void {
    if (locked === undefined) return
    const acceptedBeforeMs = performance.now() - this.#lockTimeoutMs
    this.#outbox = this.#outbox.filter(({ id }) => {
      const pending = this.#pending.get(id)
      if (pending === undefined || pending.acceptedMs > acceptedBeforeMs) return true
      this.#pending.delete(id)
      pending.settling.resolve(locked)
      return false
    })
  }

  #end(): void {
    this.#break(new Error('the thread ended'))
    this.#ended.resolve()
  }

  #break(cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const text = `the writer stopped: ${reason}`
    this.#broken ??= new StoreClosedError(`${text}; close the store and open it again`, { cause })
    this.#ready.reject(cause)
    const unknown = new StoreUnavailableError(`${text}; the outcome is unknown`, { cause })
    if (!this.#isOnDisk) this.#unsynced = unknown
    for (const pending of this.#pending.values()) pending.settling.reject(unknown)
    this.#pending.clear()
  }
}

function isLockedOut({ result }: WriterReply): boolean {
  return result.kind === 'failed' && result.error.kind === 'locked'
}
