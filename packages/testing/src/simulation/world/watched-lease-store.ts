import type { HostIdentity, LeaseGroup, LeaseStore } from '@tidemark/contracts'
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
    openGroup: async (name, signal) => watchedGroup(await store.openGroup(name, signal), watch),
    listGroups: (signal) => store.listGroups(signal),
  }
}

function watchedGroup(group: LeaseGroup, watch: CallWatch): LeaseGroup {
  const call = async <R>(
    operation: string,
    about: { caller?: HostIdentity; leases?: Leases; request?: unknown },
    send: () => Promise<R>,
  ): Promise<R> => {
    const { caller, leases = [], request } = about
    const sent = watch.sent({ operation, caller, leases, request })
    const reply = await send()
    watch.answered(sent, reply)
    return reply
  }
  return {
    group: group.group,
    sync: (request, s) =>
      call(`sync:${request.intent}`, { caller: request, request }, () => group.sync(request, s)),
    create: (leases, s) => call('create', {}, () => group.create(leases, s)),
    read: (s) => call('read', {}, () => group.read(s)),
    plan: (request, s) => call('plan', {}, () => group.plan(request, s)),
    acquire: (request, s) =>
      call('acquire', { caller: request, request }, () => group.acquire(request, s)),
    checkpoint: (request, s) =>
      call('checkpoint', { caller: request, leases: request.checkpoints, request }, () =>
        group.checkpoint(request, s),
      ),
    release: (request, s) =>
      call('release', { caller: request, leases: request.releases, request }, () =>
        group.release(request, s),
      ),
    replace: (request, s) =>
      call('replace', { caller: request, leases: request.old, request }, () =>
        group.replace(request, s),
      ),
    override: (request, s) => call('override', { request }, () => group.override(request, s)),
    setPaused: (paused, s) => call('setPaused', {}, () => group.setPaused(paused, s)),
    reconcile: (request, s) =>
      call('reconcile', { caller: request, leases: request.held }, () =>
        group.reconcile(request, s),
      ),
    discard: (token, s) => call('discard', {}, () => group.discard(token, s)),
    subscribe: (listener) => group.subscribe(listener),
    close: () => group.close(),
  }
}
