import type { HostSession, LeaseGroupSnapshot } from '@tidemark/contracts'

interface SeenSession {
  readonly incarnation: string
  readonly deadlineMs: number
  /** When the host is over unless it beats until then, by the watcher's clock. */
  readonly overAtMs: number
}

/**
 * Tells from successive looks at a group whether a host that is alive has a lease. A host is dead when its session
 * is gone; and, since the lease clock stands still while nobody calls, also when it has not beaten for as long as
 * its session had left when it was first seen: by then it has stopped by itself.
 */
export class DrainWatch {
  readonly #seen = new Map<string, SeenSession>()

  /** Hosts that may be working on leases, by name. */
  workingHosts(
    { leases, hosts, clockMs }: Pick<LeaseGroupSnapshot, 'leases' | 'hosts' | 'clockMs'>,
    nowMs: number,
  ): readonly string[] {
    for (const session of hosts) this.#note(session, { clockMs, nowMs })
    const alive = new Map(
      hosts
        .filter(({ host }) => nowMs <= (this.#seen.get(host)?.overAtMs ?? nowMs))
        .map(({ host, incarnation }) => [host, incarnation]),
    )
    const owners = leases.flatMap(({ owner }) => {
      const isAlive = owner !== undefined && alive.get(owner.host) === owner.incarnation
      return isAlive ? [owner.host] : []
    })
    return [...new Set(owners)].sort()
  }

  #note(
    { host, incarnation, deadlineMs }: HostSession,
    { clockMs, nowMs }: { readonly clockMs: number; readonly nowMs: number },
  ): void {
    const seen = this.#seen.get(host)
    if (seen?.incarnation === incarnation && seen.deadlineMs === deadlineMs) return
    const overAtMs = nowMs + Math.max(0, deadlineMs - clockMs)
    this.#seen.set(host, { incarnation, deadlineMs, overAtMs })
  }
}
