import assert from 'node:assert/strict'
import { runReadyWork } from '../../platform/run-ready-work.ts'

/** Something that is to happen. */
export interface Timer {
  readonly dueMs: number
  /** It does not happen, if it has not yet. */
  cancel(): void
}

/**
 * Time that passes only from one thing that is to happen to the next, in the order of their times, and of one
 * time in the order in which they were asked for. What each of them makes ready, through however many promises,
 * has run before the next one happens.
 */
export class VirtualTime {
  readonly #heap: Entry[] = []
  #nowMs = 0
  #order = 0

  get nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, happen: () => void): Timer {
    const entry = new Entry(this.#nowMs + wholeTicks(delayMs), this.#order, happen)
    this.#order += 1
    this.#push(entry)
    return entry
  }

  /**
   * Lets time pass until `endMs`, or until `isOver` says so after something has happened. Not from a promise
   * reaction (see `runReadyWork`).
   */
  run(endMs: number, isOver: () => boolean = () => false): void {
    assert(endMs >= this.#nowMs, `time does not go back: ${endMs}`)
    runReadyWork()
    while (!isOver()) {
      const next = this.#heap[0]
      if (next === undefined || next.dueMs > endMs) {
        this.#nowMs = endMs
        return
      }
      this.#pop()
      const { happen } = next
      if (happen === undefined) continue
      this.#nowMs = next.dueMs
      next.happen = undefined
      happen()
      runReadyWork()
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]!
      if (!entry.isBefore(above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = entry
  }

  /** Takes the first one away. */
  #pop(): void {
    const heap = this.#heap
    const moved = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && right.isBefore(heap[child]!)) child += 1
      const below = heap[child]!
      if (!below.isBefore(moved)) break
      heap[index] = below
      index = child
    }
    heap[index] = moved
  }
}

/** A delay on the grid of this time, which makes every sum and difference of times exact. Never less than asked for. */
export function wholeTicks(delayMs: number): number {
  return Math.ceil(Math.max(0, delayMs) * 1024) / 1024
}

class Entry implements Timer {
  readonly dueMs: number
  readonly #order: number
  /** Undefined once it has happened, or is not to happen any more. */
  happen: (() => void) | undefined

  constructor(dueMs: number, order: number, happen: () => void) {
    this.dueMs = dueMs
    this.#order = order
    this.happen = happen
  }

  cancel(): void {
    this.happen = undefined
  }

  isBefore(other: Entry): boolean {
    return this.dueMs < other.dueMs || (this.dueMs === other.dueMs && this.#order < other.#order)
  }
}
