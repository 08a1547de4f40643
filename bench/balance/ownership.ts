import { machineMs } from '../measuring/stopwatch.ts'

/** Who holds which lease right now, as the observers' `open` and `close` tell, and what they were given. */
export class Ownership {
  readonly #owners = new Map<string, string>()
  readonly #seen = new Map<string, Map<number, number>>()
  readonly #watchers = new Set<() => void>()
  #opens = 0
  #deliveries = 0
  #latest = 0

  /** Leases opened, ever: the difference over a phase is the leases that moved. */
  get opens(): number {
    return this.#opens
  }

  /** Changes delivered more than once, ever. */
  get duplicates(): number {
    let distinct = 0
    for (const lsns of this.#seen.values()) distinct += lsns.size
    return this.#deliveries - distinct
  }

  /** Machine clock of the last `open`. */
  get lastOpenMs(): number {
    return this.#latest
  }

  opened(host: string, lease: string): void {
    this.#opens++
    this.#owners.set(lease, host)
    this.#latest = machineMs()
    this.#tell()
  }

  closed(host: string, lease: string): void {
    // The new owner may have opened before the old one's `close` is over.
    if (this.#owners.get(lease) === host) this.#owners.delete(lease)
    this.#tell()
  }

  /** Forgets a host that died: its observers are never closed. */
  died(host: string): readonly string[] {
    const leases = this.leasesOf(host)
    for (const lease of leases) this.#owners.delete(lease)
    return leases
  }

  delivered(lease: string, lsns: readonly number[]): void {
    this.#deliveries += lsns.length
    const seen = this.#seen.get(lease) ?? new Map<number, number>()
    this.#seen.set(lease, seen)
    for (const lsn of lsns) seen.set(lsn, seen.get(lsn) ?? machineMs())
    this.#tell()
  }

  leasesOf(host: string): readonly string[] {
    return [...this.#owners].filter(([, owner]) => owner === host).map(([lease]) => lease)
  }

  /** Machine clock at which a change was first delivered; undefined if it was not. */
  firstDelivery(lease: string, lsn: number): number | undefined {
    return this.#seen.get(lease)?.get(lsn)
  }

  /** Changes 1 to `last` of a lease that nobody was given. */
  missing(lease: string, last: number): number {
    const seen = this.#seen.get(lease)
    let missing = 0
    for (let lsn = 1; lsn <= last; lsn++) if (!seen?.has(lsn)) missing++
    return missing
  }

  /** True when `hosts` hold all `leases`, and none holds two more than another. */
  isBalanced(hosts: readonly string[], leases: number): boolean {
    if (this.#owners.size !== leases) return false
    const counts = new Map(hosts.map((host) => [host, 0]))
    for (const owner of this.#owners.values()) {
      const count = counts.get(owner)
      if (count === undefined) return false
      counts.set(owner, count + 1)
    }
    return Math.max(...counts.values()) - Math.min(...counts.values()) <= 1
  }

  /** Resolves when `condition` holds after some event; rejects after `timeoutMs` with `what`. */
  until(condition: () => boolean, { what, timeoutMs }: UntilOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer)
        this.#watchers.delete(check)
        settle()
      }
      const check = (): void => {
        if (condition()) finish(resolve)
      }
      const timer = setTimeout(
        () => finish(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`))),
        timeoutMs,
      )
      this.#watchers.add(check)
      check()
    })
  }

  #tell(): void {
    for (const check of this.#watchers) check()
  }
}

export interface UntilOptions {
  readonly what: string
  readonly timeoutMs: number
}
