import {
  keyComponents,
  partitionKeyText,
  type Change,
  type Checkpoint,
  type DocumentBody,
  type FeedPage,
} from '@tidemark/contracts'
import type { AroundCall } from './batch-delivery.ts'

export interface LanesParts<T extends DocumentBody> {
  /** Calls at the same time. */
  readonly maxConcurrentKeys: number
  /** Changes that were read and are not below the low watermark. */
  readonly windowChanges: number
  /** Changes of one call at most, exceeded only to keep one transaction whole (CF-7). */
  readonly maxItemCount: number
  /** Delivers changes of one key; false when the end came first. Never rejects. */
  readonly deliver: (changes: readonly Change<T>[], around: AroundCall) => Promise<boolean>
  /** Everything up to here is done, `changes` more than before. */
  readonly onWatermark: (position: Checkpoint, changes: number) => void
  /** A key has nothing more to do, or the watermark has moved. */
  readonly onProgress: () => void
  /** Whether calls are made no more. */
  readonly isEnding: () => boolean
  /** Resolves when one of these answers may be another. */
  readonly ring: () => Promise<void>
}

interface PageInWork {
  readonly end: Checkpoint
  readonly changes: number
  left: number
}

interface QueuedChange<T extends DocumentBody> {
  readonly change: Change<T>
  /** Undefined of a change by itself, which is of no page. */
  readonly page: PageInWork | undefined
  readonly deliver?: ((around: AroundCall) => Promise<boolean>) | undefined
}

/**
 * Works on changes of different partition key values of one range at the same time, and on those of one value
 * in order (PH-8). The position is the low watermark: the end of the last page before which nothing is
 * left to do. A key that is slow, or fails again and again, holds the watermark and nobody else, until the
 * window is full.
 */
export class Lanes<T extends DocumentBody> {
  readonly #parts: LanesParts<T>
  /** In feed order. */
  readonly #pages: PageInWork[] = []
  readonly #queues = new Map<string, QueuedChange<T>[]>()
  /** Those that wait for a lane, in order from `#firstWaiting` on. */
  #waiting: (() => void)[] = []
  #firstWaiting = 0
  #free: number
  #inWindow = 0
  /** Changes that are in no page. */
  #alone = 0
  /** Keys that are worked on. */
  #running = 0

  constructor(parts: LanesParts<T>) {
    this.#parts = parts
    this.#free = parts.maxConcurrentKeys
  }

  /** Whether another page may be offered. */
  get hasRoom(): boolean {
    return this.#inWindow < this.#parts.windowChanges
  }

  /** Whether everything that was offered is done. */
  get isEmpty(): boolean {
    return this.#inWindow === 0 && this.#alone === 0
  }

  offer({ continuation, lsn, changes }: FeedPage<T>): void {
    const { length } = changes
    const page: PageInWork = { end: { continuation, lsn }, changes: length, left: length }
    this.#pages.push(page)
    this.#inWindow += length
    for (const change of changes) this.#add({ change, page })
  }

  /** A change that comes by itself, behind what there is of its key. */
  offerAlone(change: Change<T>, deliver: (around: AroundCall) => Promise<boolean>): void {
    this.#alone += 1
    this.#add({ change, page: undefined, deliver })
  }

  /** Resolves when everything that was offered is done, or the end has come and no call is in flight. */
  async settled(): Promise<void> {
    while (this.#running > 0) {
      if (this.#parts.isEnding()) this.#wakeAll()
      await this.#parts.ring()
    }
  }

  #add(item: QueuedChange<T>): void {
    const key = partitionKeyText(keyComponents(item.change.partitionKey))
    const queue = this.#queues.get(key)
    if (queue !== undefined) {
      queue.push(item)
      return
    }
    const fresh = [item]
    this.#queues.set(key, fresh)
    this.#running += 1
    void this.#run(key, fresh)
  }

  /** One key, until nothing of it is left. Never rejects. */
  async #run(key: string, queue: QueuedChange<T>[]): Promise<void> {
    const { isEnding, onProgress } = this.#parts
    let goesOn = true
    while (goesOn && queue.length > 0 && !isEnding()) {
      // The lane first: what comes for this key while it waits goes along.
      await this.#take()
      if (isEnding()) break
      goesOn = await this.#deliver(queue.splice(0, this.#nextBatch(queue)))
    }
    this.#running -= 1
    if (goesOn && queue.length === 0) this.#queues.delete(key)
    onProgress()
  }

  /** How many come next in one call. */
  #nextBatch(queue: readonly QueuedChange<T>[]): number {
    const { maxItemCount } = this.#parts
    if (queue[0]?.page === undefined) return 1
    let count = 1
    for (; count < queue.length; count += 1) {
      const { page, change } = queue[count]!
      if (page === undefined) break
      if (count >= maxItemCount && change.lsn !== queue[count - 1]!.change.lsn) break
    }
    return count
  }

  async #deliver(batch: readonly QueuedChange<T>[]): Promise<boolean> {
    const around = this.#aroundFrom(true)
    const alone = batch[0]?.deliver
    if (alone !== undefined) {
      if (!(await alone(around))) return false
      this.#alone -= 1
      return true
    }
    const changes = batch.map(({ change }) => change)
    if (!(await this.#parts.deliver(changes, around))) return false
    this.#done(batch)
    return true
  }

  /** The first call has a lane already; each gives its lane back, so that a pause before a retry holds none. */
  #aroundFrom(holdsLane: boolean): AroundCall {
    let isHeld = holdsLane
    return async (call) => {
      if (!isHeld) await this.#take()
      isHeld = false
      try {
        return await call()
      } finally {
        this.#give()
      }
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    if (this.#parts.isEnding()) return
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #give(): void {
    if (!this.#wakeNext()) this.#free += 1
  }

  #wakeAll(): void {
    for (let isWoken = true; isWoken;) isWoken = this.#wakeNext()
  }

  #wakeNext(): boolean {
    const next = this.#waiting[this.#firstWaiting]
    if (next === undefined) return false
    this.#firstWaiting += 1
    if (this.#firstWaiting * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#firstWaiting)
      this.#firstWaiting = 0
    }
    next()
    return true
  }

  #done(batch: readonly QueuedChange<T>[]): void {
    for (const { page } of batch) if (page !== undefined) page.left -= 1
    let watermark: PageInWork | undefined
    let changes = 0
    while (this.#pages[0]?.left === 0) {
      watermark = this.#pages.shift()
      changes += watermark?.changes ?? 0
    }
    if (watermark === undefined) return
    this.#inWindow -= changes
    this.#parts.onWatermark(watermark.end, changes)
    this.#parts.onProgress()
  }
}
