import { loadText } from './lease-loads.ts'

/** The work on one lease so far, since this host got it. */
export interface LeaseWork {
  /** Of this stay with the host. */
  readonly key: string
  readonly leaseId: string
  /** Time in observer calls, those under way included. */
  readonly busyMs: number
  readonly changes: number
}

/** Loads are smoothed: what was this long ago counts a third. */
const SMOOTHING_MS = 60_000
/** What is known of a lease after less than this is told to nobody. */
const TELL_AFTER_MS = 15_000
/** To read and parse a change, and to store positions. */
const MS_PER_CHANGE = 0.01

interface Rate {
  readonly sinceMs: number
  readonly atMs: number
  readonly busyMs: number
  readonly changes: number
  /** Ms of work a second, and how much of that is known. */
  readonly cost: number
  readonly part: number
}

/** What each lease of a host costs, as a smoothed rate. */
export class LoadMeter {
  #rates: ReadonlyMap<string, Rate> = new Map()

  /** Takes note of what was done until now, and returns what the leases cost: the text of `HostProfile.load`. */
  measure(works: readonly LeaseWork[], nowMs: number): string {
    const rates = new Map(works.map((work) => [work.key, this.#rateOf(work, nowMs)]))
    this.#rates = rates
    const known = works.flatMap(({ key, leaseId }): [string, number][] => {
      const rate = rates.get(key)
      if (rate === undefined || nowMs - rate.sinceMs < TELL_AFTER_MS) return []
      return [[leaseId, rate.cost / rate.part]]
    })
    return loadText(new Map(known))
  }

  #rateOf({ key, busyMs, changes }: LeaseWork, nowMs: number): Rate {
    const before = this.#rates.get(key)
    const now = { atMs: nowMs, busyMs, changes }
    if (before === undefined) return { ...now, sinceMs: nowMs, cost: 0, part: 0 }
    const passedMs = nowMs - before.atMs
    if (passedMs <= 0) return before
    const workMs =
      Math.max(0, busyMs - before.busyMs) + MS_PER_CHANGE * Math.max(0, changes - before.changes)
    const kept = Math.exp(-passedMs / SMOOTHING_MS)
    return {
      ...now,
      sinceMs: before.sinceMs,
      cost: before.cost * kept + (1000 * workMs * (1 - kept)) / passedMs,
      part: before.part * kept + 1 - kept,
    }
  }
}
