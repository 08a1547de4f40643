import { isOnStandby, type PlannedHost, type PlannedLease } from './holders.ts'

/** A lease with what it counts, known or not. */
export interface WeighedLease extends PlannedLease {
  readonly weight: number
}

/** A host with the leases that it is to have so far. */
export class LoadedHost {
  readonly name: string
  readonly weight: number
  readonly maxLeases: number
  readonly isOnStandby: boolean
  readonly minLeases: number
  /** In the order in which they came. */
  readonly leases: Set<WeighedLease> = new Set()
  load = 0

  constructor(taker: PlannedHost, minLeases: number) {
    this.minLeases = minLeases
    this.name = taker.host
    this.weight = taker.profile.weight
    this.maxLeases = taker.profile.maxLeases
    this.isOnStandby = isOnStandby(taker)
  }

  /** Load for its weight: what is to be the same for all. */
  get level(): number {
    return this.load / this.weight
  }

  levelWith({ weight }: WeighedLease): number {
    return (this.load + weight) / this.weight
  }

  /** Whether it has told what each of its leases costs. */
  get isKnown(): boolean {
    return [...this.leases].every(({ cost }) => cost !== undefined)
  }

  add(lease: WeighedLease): void {
    this.leases.add(lease)
    this.load += lease.weight
  }

  give(lease: WeighedLease, taker: LoadedHost): void {
    this.leases.delete(lease)
    this.load -= lease.weight
    taker.add(lease)
  }
}
