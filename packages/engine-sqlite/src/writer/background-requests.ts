import type { WriterRequest } from './writer-messages.ts'

/** A busy writer still does a piece of background work this often, so that nothing grows without limit. */
const BACKGROUND_PATIENCE_MS = 25
/** A writer that had requests this recently will have more before a large piece is done. */
const BUSY_WINDOW_MS = 20
/** Items of a piece of a busy writer: about a millisecond, so that it hardly delays requests (TTL-5). */
const BUSY_ITEMS = 50

/** Requests that wait until there are no others (TTL-5). */
export class BackgroundRequests {
  readonly #clock: { monotonicMs(): number }
  readonly #waiting: WriterRequest[] = []
  #lastMs = 0
  #lastUrgentMs = -Infinity

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Keeps those that can wait, and returns the others. */
  setAside(requests: readonly WriterRequest[]): readonly WriterRequest[] {
    const urgent = requests.filter(({ task }) => task.kind !== 'maintain')
    if (urgent.length > 0) this.#lastUrgentMs = this.#clock.monotonicMs()
    if (urgent.length === requests.length) return requests
    this.#waiting.push(...requests.filter(({ task }) => task.kind === 'maintain'))
    return urgent
  }

  /** The next piece; a small one while the writer is busy. */
  next(): WriterRequest | undefined {
    const nowMs = this.#clock.monotonicMs()
    this.#lastMs = nowMs
    const request = this.#waiting.shift()
    if (request?.task.kind !== 'maintain') return request
    if (nowMs - this.#lastUrgentMs > BUSY_WINDOW_MS) return request
    const maxItems = Math.min(request.task.maxItems, BUSY_ITEMS)
    return { ...request, task: { ...request.task, maxItems } }
  }

  /** The next piece, if none was done for a while. */
  overdue(): WriterRequest | undefined {
    const isDue = this.#clock.monotonicMs() - this.#lastMs >= BACKGROUND_PATIENCE_MS
    return isDue ? this.next() : undefined
  }
}
