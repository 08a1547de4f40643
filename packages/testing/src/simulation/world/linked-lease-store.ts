import type { HeldLease, LeaseGroup, LeaseHint, LeaseStore } from '@tidemark/contracts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { LeaseServer } from './lease-server.ts'
import type { NetworkLink } from './network-link.ts'

type Call = <R>(
  operation: string,
  request: () => Promise<R>,
  claims?: readonly HeldLease[],
) => Promise<R>

/** Leases of the pure model, as a process reaches them over its link. */
export function linkedLeaseStore(
  server: LeaseServer,
  process: SimulatedProcess,
  link: NetworkLink,
): LeaseStore {
  const call: Call = (operation, request, claims) =>
    link.call(operation, () => server.execute(process, request, claims))
  const { leases } = server
  return {
    description: leases.description,
    openGroup: async (name) => {
      const group = await call('openGroup', () => leases.openGroup(name))
      return linkedGroup(group, call, link)
    },
    listGroups: () => call('listGroups', () => leases.listGroups()),
  }
}

/** Calls ignore their signals: what was sent was sent, and whoever waits for an answer sees to it how long. */
function linkedGroup(group: LeaseGroup, call: Call, link: NetworkLink): LeaseGroup {
  const listen = (listener: (hint: LeaseHint) => void): (() => void) => {
    let isOver = false
    const stop = group.subscribe((hint) =>
      link.hint(() => {
        if (!isOver) listener(hint)
      }),
    )
    return () => {
      isOver = true
      stop()
    }
  }
  return {
    group: group.group,
    sync: (request) => call('sync', () => group.sync(request)),
    create: (leases) => call('create', () => group.create(leases)),
    read: () => call('read', () => group.read()),
    ...(group.claimFeed && {
      claimFeed: (feed, given) => call('claimFeed', () => group.claimFeed!(feed, given)),
    }),
    plan: (request) => call('plan', () => group.plan(request)),
    acquire: (request) => call('acquire', () => group.acquire(request)),
    checkpoint: (request) =>
      call('checkpoint', () => group.checkpoint(request), request.checkpoints),
    release: (request) => call('release', () => group.release(request), request.releases),
    replace: (request) => call('replace', () => group.replace(request), request.old),
    override: (request) => call('override', () => group.override(request)),
    setPaused: (paused) => call('setPaused', () => group.setPaused(paused)),
    reconcile: (request) => call('reconcile', () => group.reconcile(request)),
    discard: (token) => call('discard', () => group.discard(token)),
    declareLost: (request) => call('declareLost', () => group.declareLost(request)),
    note: (note) => call('note', async () => group.note?.(note)),
    subscribe: listen,
    close: () => group.close(),
  }
}
