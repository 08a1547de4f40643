import { rangesOverlap, type FeedRange, type HeldLease } from '@tidemark/contracts'

/** Pumps that have not closed, also of leases that are lost. No two of them have keys in common (I5). */
export class OpenPumps {
  readonly #open = new Map<string, { readonly epoch: number; readonly range: FeedRange }>()

  get size(): number {
    return this.#open.size
  }

  has({ leaseId, epoch }: HeldLease): boolean {
    return this.#open.get(leaseId)?.epoch === epoch
  }

  /** Whether one may begin to work on these keys. */
  leaveFree(range: FeedRange): boolean {
    for (const open of this.#open.values()) if (rangesOverlap(open.range, range)) return false
    return true
  }

  begin({ leaseId, epoch }: HeldLease, range: FeedRange): void {
    this.#open.set(leaseId, { epoch, range })
  }

  end(held: HeldLease): void {
    if (this.has(held)) this.#open.delete(held.leaseId)
  }
}
