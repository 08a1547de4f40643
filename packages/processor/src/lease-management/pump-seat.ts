import {
  LeaseLostError,
  type Checkpoint,
  type CloseReason,
  type HeldLease,
  type Lease,
} from '@tidemark/contracts'
import type { PumpReplacement } from './lease-protocol.ts'

/** How a pump ended. */
export interface PumpEnd {
  /** The last position, to be stored; undefined to keep what is stored. */
  readonly checkpoint: Checkpoint | undefined
  readonly reason: CloseReason
  /** The leases that replace this one, if the pump ended because of that. */
  readonly replacement?: PumpReplacement | undefined
}

/** What works on one lease: reads its range and calls its observer. */
export interface LeasePump {
  /** Something that it may wait for has happened. */
  wake(): void
  /** Finish the batch in flight, close the observer, then `seat.closed` with the last position. */
  drain(reason: CloseReason): void
  /** Abort the batch in flight, close the observer when it settled or its grace is over, then `seat.closed`. */
  abort(reason: CloseReason): void
}

export interface SeatLinks {
  mayDispatch(): boolean
  progress(held: HeldLease, checkpoint: Checkpoint): void
  closed(held: HeldLease, end: PumpEnd): void
}

interface CheckpointWaiter {
  readonly checkpoint: Checkpoint
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** A pump's place in the protocol: what it may do, and where it tells what it did. */
export class PumpSeat {
  readonly held: HeldLease
  readonly lease: Lease
  readonly generation: string
  readonly #links: SeatLinks
  /** In the order in which they asked. */
  readonly #waiters = new Set<CheckpointWaiter>()
  #storedLsn: number
  #isOver = false

  constructor(
    held: HeldLease,
    { lease, generation, links }: { lease: Lease; generation: string; links: SeatLinks },
  ) {
    this.held = held
    this.lease = lease
    this.#storedLsn = lease.checkpoint.lsn
    this.generation = generation
    this.#links = links
  }

  /** Whether an observer may be called at this moment. Ask right before each call. */
  mayDispatch(): boolean {
    return !this.#isOver && this.#links.mayDispatch()
  }

  /**
   * Stores a position to resume from; resolves when it, or a later one, is stored. Calls of all
   * leases of the host go to the store together.
   *
   * Rejects with ERR_LEASE_LOST when the lease is no longer this host's.
   */
  storeCheckpoint(checkpoint: Checkpoint): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) {
        reject(new LeaseLostError(this.held.leaseId))
        return
      }
      if (checkpoint.lsn < this.#storedLsn) {
        resolve()
        return
      }
      this.#waiters.add({ checkpoint, resolve, reject })
      this.#links.progress(this.held, checkpoint)
    })
  }

  /** The observer is closed and the pump does nothing more. Once. */
  closed(end: PumpEnd): void {
    this.over()
    this.#links.closed(this.held, end)
  }

  /** The store acknowledged a position. */
  stored(checkpoint: Checkpoint): void {
    this.#storedLsn = Math.max(this.#storedLsn, checkpoint.lsn)
    // Of several at one LSN the earlier ones were overtaken; the later ones are not stored yet. Nor is any if it
    // was this one's second acknowledgement: a position that the store had lost.
    const waiters = [...this.#waiters]
    const own = waiters.findLastIndex((waiter) => waiter.checkpoint === checkpoint)
    for (const [index, waiter] of waiters.entries()) {
      const { lsn } = waiter.checkpoint
      if (lsn > checkpoint.lsn || (lsn === checkpoint.lsn && index > own)) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
  }

  /** The lease can not be relied on any more. */
  over(): void {
    this.#isOver = true
    for (const waiter of this.#waiters) waiter.reject(new LeaseLostError(this.held.leaseId))
    this.#waiters.clear()
  }
}
