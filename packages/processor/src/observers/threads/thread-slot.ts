import { CallQueue } from './call-queue.ts'
import type { ObserverThread } from './observer-thread.ts'
import type { ObserverThreadEndedError } from './observer-thread-ended-error.ts'

export interface ThreadSlotParts {
  /** Calls in flight in one thread. */
  readonly maxConcurrent: number
  readonly startThread: (onEnd: (error: ObserverThreadEndedError) => void) => ObserverThread
  /** A thread ended that nobody ended, under these leases. */
  readonly onThreadEnd: (error: ObserverThreadEndedError, leaseIds: readonly string[]) => void
}

/** An observer that has its place here. */
export interface SlotTenant {
  readonly leaseId: string
}

/** The place of one thread. Leases keep their place; when the thread dies another one comes into it. */
export class ThreadSlot {
  readonly calls: CallQueue
  readonly #parts: ThreadSlotParts
  readonly #tenants = new Set<SlotTenant>()
  /** Calls of each tenant that a thread died under and that have not succeeded since. */
  readonly #suspicions = new Map<SlotTenant, number>()
  #thread: ObserverThread | undefined

  constructor(parts: ThreadSlotParts) {
    this.#parts = parts
    // One at a time, until it is found whose call it is that no thread survives: the others must not fail with it.
    this.calls = new CallQueue(() => (this.#suspicions.size > 0 ? 1 : parts.maxConcurrent))
  }

  get tenants(): number {
    return this.#tenants.size
  }

  /** The one that is or was last running. */
  get lastThread(): ObserverThread | undefined {
    return this.#thread
  }

  /** The thread that runs, started if there is none. */
  thread(): ObserverThread {
    if (this.#thread?.isRunning === true) return this.#thread
    const { startThread, onThreadEnd } = this.#parts
    this.#thread = startThread((error) =>
      onThreadEnd(
        error,
        [...this.#tenants].map(({ leaseId }) => leaseId),
      ),
    )
    return this.#thread
  }

  enter(tenant: SlotTenant): void {
    this.#tenants.add(tenant)
  }

  leave(tenant: SlotTenant): void {
    this.#tenants.delete(tenant)
    this.#suspicions.delete(tenant)
    this.calls.look()
  }

  diedUnder(tenant: SlotTenant): void {
    if (!this.#tenants.has(tenant)) return
    this.#suspicions.set(tenant, (this.#suspicions.get(tenant) ?? 0) + 1)
  }

  succeeded(tenant: SlotTenant): void {
    const left = (this.#suspicions.get(tenant) ?? 0) - 1
    if (left > 0) this.#suspicions.set(tenant, left)
    else if (left === 0) this.#suspicions.delete(tenant)
  }
}
