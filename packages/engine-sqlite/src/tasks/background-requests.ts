import type { WriterRequest } from '../writer/writer-messages.ts'

/** A busy writer still does a piece of background work this often, so that nothing grows without end. */
const BACKGROUND_PATIENCE_MS = 25
/** Items of such a piece. */
const BUSY_ITEMS = 50

/** Requests that wait until no others do (TTL-5). */
export class BackgroundRequests {
  readonly #clock: { monotonicMs(): number }
  readonly #waiting: WriterRequest[] = []
  #lastMs = 0

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Keeps those that may wait; returns the others. */
  setAside(requests: readonly WriterRequest[]): readonly WriterRequest[] {
    const urgent = requests.filter(({ task }) => task.kind !== 'maintain')
    if (urgent.length === requests.length) return requests
    this.#waiting.push(...requests.filter(({ task }) => task.kind === 'maintain'))
    return urgent
  }

  next(): WriterRequest | undefined {
    this.#lastMs = this.#clock.monotonicMs()
    return this.#waiting.shift()
  }

  /** A small piece, if none was done for a while. */
  overdue(): WriterRequest | undefined {
    if (this.isEmpty || this.#clock.monotonicMs() - this.#lastMs < BACKGROUND_PATIENCE_MS)
      return undefined
    const request = this.next()
    if (request?.task.kind !== 'maintain') return request
    const maxItems = Math.min(request.task.maxItems, BUSY_ITEMS)
    return { ...request, task: { ...request.task, maxItems } }
  }
}
