import {
  keyComponents,
  partitionKeyText,
  type Change,
  type Checkpoint,
  type DocumentBody,
  type FeedPage,
} from '@tidemark/contracts'
import type { CallOutcome } from './observer-calls.ts'

/** Waits for a free lane around a call. */
export type AroundCall = (call: () => Promise<CallOutcome>) => Promise<CallOutcome>

export interface LanesParts<T extends DocumentBody> {
  /** Calls at the same time. */
  readonly maxConcurrentKeys: number
  /** Changes that were read and are not below the low watermark. */
  readonly windowChanges: number
  /** Changes of one call at most. */
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
  readonly page: PageInWork
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
  readonly #runs = new Set<Promise<void>>()
  readonly #waiting: (() => void)[] = []
  #free: number
  #inWindow = 0

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
    return this.#inWindow === 0
  }

  offer(page: FeedPage<T>): void {
    const { continuation, lsn, changes } = page
    const work: PageInWork = {
      end: { continuation, lsn },
      changes: changes.length,
      left: changes.length,
    }
    this.#pages.push(work)
    this.#inWindow += changes.length
    for (const change of changes) {
      const key = partitionKeyText(keyComponents(change.partitionKey))
      const queue = this.#queues.get(key)
      if (queue !== undefined) {
        queue.push({ change, page: work })
        continue
      }
      const fresh = [{ change, page: work }]
      this.#queues.set(key, fresh)
      const run = this.#run(key, fresh).finally(() => this.#runs.delete(run))
      this.#runs.add(run)
    }
  }

  /** Resolves when everything that was offered is done, or the end has come and no call is in flight. */
  async settled(): Promise<void> {
    while (this.#runs.size > 0) {
      if (this.#parts.isEnding()) for (const wake of this.#waiting.splice(0)) wake()
      await Promise.race([Promise.all(this.#runs), this.#parts.ring()])
    }
  }

  /** One key, until nothing of it is left. Never rejects. */
  async #run(key: string, queue: QueuedChange<T>[]): Promise<void> {
    const { deliver, maxItemCount, isEnding, onProgress } = this.#parts
    while (queue.length > 0 && !isEnding()) {
      // The lane first: what comes for this key while it waits goes along.
      await this.#take()
      if (isEnding()) break
      const batch = queue.splice(0, maxItemCount)
      const isDone = await deliver(
        batch.map(({ change }) => change),
        this.#aroundFrom(true),
      )
      if (!isDone) return
      this.#done(batch)
    }
    if (queue.length === 0) this.#queues.delete(key)
    onProgress()
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
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }

  #done(batch: readonly QueuedChange<T>[]): void {
    for (const { page } of batch) page.left -= 1
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
