import type {
  ClaimFeedOptions,
  GroupFeed,
  HostIdentity,
  LeaseGroup,
  LeaseStore,
} from '@tidemark/contracts'
import type { SentCall } from './world-events.ts'

/** Told of each call of one process, when it is sent and when it is answered. */
export interface CallWatch {
  sent(call: Omit<SentCall, 'member' | 'sentMs'>): SentCall
  answered(call: SentCall, reply: unknown): void
}

type Leases = SentCall['leases']

/** A lease store of which one process's calls are told to somebody. */
export function watchedLeaseStore(store: LeaseStore, watch: CallWatch): LeaseStore {
  const { description, collectionIdentity } = store
  return {
    description,
    collectionIdentity,
    openGroup: async (name, options) => watchedGroup(await store.openGroup(name, options), watch),
    listGroups: (options) => store.listGroups(options),
  }
}

function watchedGroup(group: LeaseGroup, watch: CallWatch): LeaseGroup {
  const call = async <R>(
    operation: string,
    about: {
      caller?: HostIdentity
      leases?: Leases
      request?: unknown
      signal?: AbortSignal | undefined
    },
    send: () => Promise<R>,
  ): Promise<R> => {
    const { caller, leases = [], request, signal } = about
    const sent = watch.sent({ operation, caller, leases, request })
    const reply = await send()
    // An answer to a call that was given up is not seen by anybody.
    if (signal?.aborted !== true) watch.answered(sent, reply)
    return reply
  }
  return {
    group: group.group,
    sync: (request, s) =>
      call(`sync:${request.intent}`, { caller: request, request, signal: s }, () =>
        group.sync(request, s),
      ),
    create: (leases, s) => call('create', { signal: s }, () => group.create(leases, s)),
    read: (s) => call('read', { signal: s }, () => group.read(s)),
    ...(group.claimFeed && {
      claimFeed: (feed: GroupFeed, given: ClaimFeedOptions = {}) =>
        call('claimFeed', { signal: given.signal }, () => group.claimFeed!(feed, given)),
    }),
    plan: (request, s) => call('plan', { signal: s }, () => group.plan(request, s)),
    acquire: (request, s) =>
      call('acquire', { caller: request, request, signal: s }, () => group.acquire(request, s)),
    checkpoint: (request, s) =>
      call('checkpoint', { caller: request, leases: request.checkpoints, request, signal: s }, () =>
        group.checkpoint(request, s),
      ),
    ...(group.flush && {
      flush: (s: AbortSignal | undefined) => call('flush', { signal: s }, () => group.flush!(s)),
    }),
    release: (request, s) =>
      call('release', { caller: request, leases: request.releases, request, signal: s }, () =>
        group.release(request, s),
      ),
    replace: (request, s) =>
      call('replace', { caller: request, leases: request.old, request, signal: s }, () =>
        group.replace(request, s),
      ),
    override: (request, s) =>
      call('override', { request, signal: s }, () => group.override(request, s)),
    setPaused: (paused, s) => call('setPaused', { signal: s }, () => group.setPaused(paused, s)),
    reconcile: (request, s) =>
      call('reconcile', { caller: request, leases: request.held, signal: s }, () =>
        group.reconcile(request, s),
      ),
    discard: (token, s) => call('discard', { signal: s }, () => group.discard(token, s)),
    declareLost: (request, s) =>
      call('declareLost', { signal: s }, () => group.declareLost(request, s)),
    note: async (note, s) => group.note?.(note, s),
    subscribe: (listener) => group.subscribe(listener),
    close: () => group.close(),
  }
}
