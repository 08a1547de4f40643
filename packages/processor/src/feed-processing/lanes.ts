import {
  partitionKeyText,
  type Change,
  type Checkpoint,
  type DeadLetter,
  type DocumentBody,
  type FeedPage,
} from '@tidemark/contracts'
import { keyComponents } from '@tidemark/contracts/internal'
import type { Delivery, Lane } from './delivery.ts'
import type { PositionKeeper } from './position-keeper.ts'
import type { PumpParts } from './pump-parts.ts'

export interface LanesParts<T extends DocumentBody> extends PumpParts<T> {
  readonly delivery: Delivery<T>
  /** Of the low watermark. */
  readonly keeper: PositionKeeper
}

/** Changes of one key in one call, where the feed's own page size is not known. */
const LANE_BATCH = 1_000

interface PageInWork {
  readonly end: Checkpoint
  readonly changes: number
  left: number
}

interface QueuedChange<T extends DocumentBody> {
  readonly change: Change<T>
  /** Undefined of a letter that was sent back. */
  readonly page: PageInWork | undefined
  readonly letter?: DeadLetter<T> | undefined
}

/** What there is of one key. */
interface KeyQueue<T extends DocumentBody> {
  readonly key: string
  readonly changes: QueuedChange<T>[]
}

/**
 * Works on changes of different partition key values of one range at the same time, and on those of one value
 * in order (PH-8). The position is the low watermark: the end of the last page before which nothing is
 * left to do. A key that is slow, or fails again and again, holds the watermark and nobody else, until the
 * window is full.
 *
 * A key that waits for a lane is an entry in a list: there may be as many as changes in the window.
 */
export class Lanes<T extends DocumentBody> {
  readonly #parts: LanesParts<T>
  /** In feed order. */
  readonly #pages: PageInWork[] = []
  readonly #queues = new Map<string, KeyQueue<T>>()
  /** Keys, and calls to be repeated, that wait for a lane, in order from `#firstWaiting` on. */
  #waiting: (KeyQueue<T> | (() => void))[] = []
  #firstWaiting = 0
  #free: number
  #inWindow = 0
  #letters = 0
  /** Keys that have a lane, or pause before they try again. */
  #running = 0

  constructor(parts: LanesParts<T>) {
    this.#parts = parts
    this.#free = parts.options.maxConcurrentKeys
  }

  /** Whether another page may be offered. Changes that are done and not stored are in the window too. */
  get hasRoom(): boolean {
    const { keeper, options } = this.#parts
    return this.#inWindow + keeper.unstoredChanges < options.laneWindowChanges
  }

  /** Whether everything that was offered is done. */
  get isEmpty(): boolean {
    return this.#inWindow === 0 && this.#letters === 0
  }

  offer({ continuation, lsn, changes }: FeedPage<T>): void {
    const { length } = changes
    const page: PageInWork = { end: { continuation, lsn }, changes: length, left: length }
    this.#pages.push(page)
    this.#inWindow += length
    for (const change of changes) this.#add({ change, page })
    // Now that all of them are there: what there is of a key goes together.
    this.#useLanes()
  }

  /** A letter that was sent back: by itself, behind what there is of its key. */
  offerLetter(letter: DeadLetter<T>): void {
    this.#letters += 1
    this.#add({ change: letter.change, page: undefined, letter })
    this.#useLanes()
  }

  /** Resolves when everything that was offered is done, or the end has come and no call is in flight. */
  async settled(): Promise<void> {
    const { bell, ending } = this.#parts
    for (;;) {
      if (ending.endsCalls) this.#dismissAll()
      if (this.#running === 0) return
      await bell.next
    }
  }

  #add(item: QueuedChange<T>): void {
    const key = keyOf(item.change)
    const queue = this.#queues.get(key)
    if (queue !== undefined) {
      queue.changes.push(item)
      return
    }
    const fresh: KeyQueue<T> = { key, changes: [item] }
    this.#queues.set(key, fresh)
    this.#waiting.push(fresh)
  }

  /** Gives the lanes that are free to those who wait the longest. */
  #useLanes(): void {
    while (this.#free > 0) {
      const next = this.#nextWaiting()
      if (next === undefined) return
      this.#free -= 1
      if (typeof next === 'function') {
        next()
        continue
      }
      this.#running += 1
      void this.#run(next)
    }
  }

  /** One batch of one key, which has a lane. Never rejects. */
  async #run(queue: KeyQueue<T>): Promise<void> {
    const { changes, key } = queue
    const goesOn = await this.#deliver(changes.splice(0, this.#nextBatch(changes)))
    this.#running -= 1
    if (!goesOn) {
      this.#parts.bell.ring()
      return
    }
    if (changes.length > 0) {
      this.#waiting.push(queue)
      this.#useLanes()
      return
    }
    this.#queues.delete(key)
    this.#parts.bell.ring()
  }

  /** How many come next in one call. */
  #nextBatch(changes: readonly QueuedChange<T>[]): number {
    // Exceeded only to keep one transaction whole (CF-7).
    const { maxItemCount = LANE_BATCH } = this.#parts.options
    if (changes[0]?.page === undefined) return 1
    let count = 1
    for (; count < changes.length; count += 1) {
      const { page, change } = changes[count]!
      if (page === undefined) break
      if (count >= maxItemCount && change.lsn !== changes[count - 1]!.change.lsn) break
    }
    return count
  }

  async #deliver(batch: readonly QueuedChange<T>[]): Promise<boolean> {
    const changes = batch.map(({ change }) => change)
    const letter = batch[0]?.letter
    const lane = this.#laneInUse()
    const outcome = await this.#parts.delivery.deliver({ changes, letter, lane })
    if (outcome === 'ended') return false
    if (letter === undefined) this.#done(batch)
    else this.#letters -= 1
    return true
  }

  /** For the first call it is there already; each gives it back, so that a pause before a retry holds none. */
  #laneInUse(): Lane {
    let isHeld = true
    return {
      enter: async () => {
        if (!isHeld) await this.#take()
        isHeld = false
      },
      leave: () => {
        this.#free += 1
        this.#useLanes()
      },
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    if (this.#parts.ending.endsCalls) return
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** No more calls: nobody waits for a lane any longer. */
  #dismissAll(): void {
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting()) {
      if (typeof next === 'function') next()
    }
  }

  #nextWaiting(): KeyQueue<T> | (() => void) | undefined {
    const next = this.#waiting[this.#firstWaiting]
    if (next === undefined) return undefined
    this.#firstWaiting += 1
    if (this.#firstWaiting * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#firstWaiting)
      this.#firstWaiting = 0
    }
    return next
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
    this.#parts.keeper.done(watermark.end, changes)
    this.#parts.bell.ring()
  }
}

/** Equal for equal partition key values, and for no others. */
function keyOf({ partitionKey }: Change): string {
  const components = keyComponents(partitionKey)
  const [only] = components
  // By far the most frequent. The text of all others begins with a bracket.
  if (components.length === 1 && typeof only === 'string') return `"${only}`
  return partitionKeyText(components)
}
