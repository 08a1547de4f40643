/** The process that can do background work, and until when at least. */
export interface MaintenanceHolder {
  readonly name: string
  /** Store time, epoch ms. */
  readonly untilMs: number
}

/** The right to do background work: one holder at a time, for a span of store time. */
export class MaintenanceLease {
  #holder: MaintenanceHolder | undefined

  /** The present holder. */
  holderAt(nowMs: number): MaintenanceHolder | undefined {
    return this.#holder !== undefined && nowMs < this.#holder.untilMs ? this.#holder : undefined
  }

  /** Takes or renews the lease, unless another has it. Returns the holder afterwards. */
  take(
    name: string,
    { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
  ): MaintenanceHolder {
    const present = this.holderAt(nowMs)
    if (present !== undefined && present.name !== name) return present
    // It rises with each renewal, so others see the renewal even while the store's clock stands still.
    const untilMs = Math.max(nowMs + leaseMs, present === undefined ? 0 : present.untilMs + 1)
    this.#holder = { name, untilMs }
    return this.#holder
  }

  release(name: string): void {
    if (this.#holder?.name === name) this.#holder = undefined
  }
}
