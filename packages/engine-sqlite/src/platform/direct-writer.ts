import assert from 'node:assert/strict'
import { StoreClosedError, StoreUnavailableError } from '@tidemark/contracts'
import type { Connection } from '../connection/connection.ts'
import { DatabaseWriter, type BlockingClock } from '../writer/database-writer.ts'
import { WriterTurns } from '../writer/writer-turns.ts'
import { settledEach, textChars, type Settling, type TaskWriter } from '../writer/task-writer.ts'
import type {
  WriterReply,
  WriterRequest,
  WriterResult,
  WriterTask,
} from '../writer/writer-messages.ts'
import type { LoopTurns } from './loop-turns.ts'

const MAX_PENDING = 100_000
/** A group keeps the event loop waiting: about a millisecond. */
const MAX_GROUP_OPERATIONS = 100
/** As many slots as a segment can have. */
const SEGMENT_SLOTS_USED: number = 2 ** 31

/**
 * Stands still: groups and pieces of background work are limited by their number of items alone, so what runs under a
 * simulated clock is the same every time. Nothing else uses the connection, so nothing waits for a lock.
 */
const clock: BlockingClock = { sleep: () => undefined, monotonicMs: () => 0, fraction: () => 0 }

/** Writes on the caller's thread, shortly after it was asked: what is asked together is one transaction. */
export class DirectWriter implements TaskWriter {
  readonly #writer: DatabaseWriter
  readonly #work: WriterTurns
  /** Stand for milliseconds, by which background work waits for requests. */
  #rounds = 0
  readonly #turns: LoopTurns
  readonly #pending = new Map<number, Settling>()
  #outbox: WriterRequest[] = []
  #nextId = 1
  #isWorkDue = false
  #closed: StoreClosedError | undefined

  constructor(
    connection: Connection,
    { name, turns }: { readonly name: string; readonly turns: LoopTurns },
  ) {
    this.#turns = turns
    this.#writer = new DatabaseWriter(
      connection,
      {
        name,
        segmentSlots: SEGMENT_SLOTS_USED,
        lockTimeoutMs: 0,
        maxGroupOperations: MAX_GROUP_OPERATIONS,
        assertUsable: () => undefined,
      },
      clock,
    )
    this.#work = new WriterTurns(this.#writer, { monotonicMs: () => this.#rounds })
  }

  async request(task: WriterTask, nowMs: number): Promise<WriterResult> {
    const [result] = await this.requestEach([task], nowMs)
    assert(result !== undefined, 'each request has a result')
    if (result instanceof Error) throw result
    return result
  }

  async requestEach(
    tasks: readonly WriterTask[],
    nowMs: number,
  ): Promise<readonly (WriterResult | Error)[]> {
    if (this.#closed !== undefined) throw this.#closed
    if (this.#pending.size >= MAX_PENDING) {
      throw new StoreUnavailableError(`${MAX_PENDING} writes are already waiting`)
    }
    this.#workSoon()
    return settledEach(tasks, (task, settling) => {
      const id = this.#nextId++
      this.#pending.set(id, settling)
      this.#outbox.push({ id, nowMs, chars: textChars(task), task })
    })
  }

  async close(): Promise<void> {
    if (this.#closed !== undefined) return
    this.#closed = new StoreClosedError('the store was closed')
    while (this.#workOnce()) continue
    this.#writer.close()
  }

  #workSoon(): void {
    if (this.#isWorkDue) return
    this.#isWorkDue = true
    const turn = this.#turns.due()
    // After the promise callbacks that are running now: writers that wake together write together.
    if (turn === undefined) process.nextTick(() => this.#workNow())
    else void turn.then(() => this.#workNow())
  }

  #workNow(): void {
    this.#isWorkDue = false
    if (this.#closed !== undefined) return
    if (this.#workOnce() || this.#work.purge()) this.#workSoon()
  }

  /** False when there was nothing to do. */
  #workOnce(): boolean {
    this.#rounds++
    const requests = this.#outbox
    this.#outbox = []
    this.#work.add(requests)
    return this.#work.work((replies) => this.#settle(replies))
  }

  #settle(replies: readonly WriterReply[]): void {
    for (const { id, result } of replies) {
      this.#pending.get(id)?.resolve(result)
      this.#pending.delete(id)
    }
  }
}
