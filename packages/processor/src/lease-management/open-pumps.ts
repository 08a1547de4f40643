import type { FeedRange, HeldLease } from '@tidemark/contracts'
import { RangeMap } from './range-map.ts'

/** Pumps that have not closed, also of leases that are lost. No two of them have keys in common (I5). */
export class OpenPumps {
  readonly #open = new Map<string, { readonly epoch: number; readonly range: FeedRange }>()
  readonly #keys = new RangeMap<true>()

  get size(): number {
    return this.#open.size
  }

  has({ leaseId, epoch }: HeldLease): boolean {
    return this.#open.get(leaseId)?.epoch === epoch
  }

  /** Whether one may begin to work on these keys. */
  leaveFree(range: FeedRange): boolean {
    return this.#keys.overlapping(range).length === 0
  }

  begin({ leaseId, epoch }: HeldLease, range: FeedRange): void {
    this.#open.set(leaseId, { epoch, range })
    this.#keys.set(range, true)
  }

  end(held: HeldLease): void {
    const open = this.#open.get(held.leaseId)
    if (open?.epoch !== held.epoch) return
    this.#open.delete(held.leaseId)
    this.#keys.delete(open.range)
  }
}
