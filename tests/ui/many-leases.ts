import { feedRangeId, type HostIdentity, type LeaseGroup } from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import type { Order } from './worker-process.ts'

export interface ManyLeasesOptions {
  readonly leases: number
  readonly hosts: number
}

const SESSION_MS = 3_600_000

/** A group without processes: its leases and sessions are those that hosts would have made. */
export interface ManyLeases extends AsyncDisposable {
  /** Of the leases, in the order of their keys. */
  readonly tokens: readonly string[]
  /** Plans that all leases of one host go to another. */
  move(from: string, to: string): Promise<void>
  /** Does it. */
  handOver(from: string, to: string): Promise<void>
}

/** Leases of group `many`, which follows `shop/orders`, shared out evenly over `host-1`, `host-2` and so on. */
export async function openManyLeases(
  store: Store,
  { leases: count, hosts }: ManyLeasesOptions,
): Promise<ManyLeases> {
  const shop = store.database('shop')
  const orders = shop.collection<Order>('orders')
  const group = await new DocumentLeaseStore(shop.collection('leases')).openGroup('many')
  const { definition } = await orders.readRecord()
  const ranges = evenRanges(count, definition.partitionKey)
  const starts = ranges.map(async (range) => {
    return { range, checkpoint: await orders.resolveStart({ range, start: 'beginning' }) }
  })
  await group.create(await Promise.all(starts))
  const names = Array.from({ length: hosts }, (_, n) => `host-${n + 1}`)
  for (const name of names) await join(group, name)
  const tokens = ranges.map((range) => feedRangeId(range))
  const targets = new Map(tokens.map((token, n) => [token, names[n % hosts] ?? '']))
  await plan(group, targets)
  for (const name of names) await acquire(group, name)
  return {
    tokens,
    async move(from, to) {
      for (const [token, target] of targets) if (target === from) targets.set(token, to)
      await plan(group, targets)
    },
    async handOver(from, to) {
      const { leases } = await group.read()
      const own = leases.filter(({ owner }) => owner?.host === from)
      const releases = own.map(({ id: leaseId, epoch }) => ({ leaseId, epoch }))
      await group.release({ ...identity(from), releases })
      await acquire(group, to)
    },
    [Symbol.asyncDispose]: () => group.close(),
  }
}

function identity(host: string): HostIdentity {
  return { host, incarnation: `${host}-1` }
}

async function join(group: LeaseGroup, name: string): Promise<void> {
  await group.sync({
    ...identity(name),
    intent: 'join',
    profile: { weight: 1, minLeases: 0, maxLeases: Number.POSITIVE_INFINITY, leaving: false },
    ttlMs: SESSION_MS,
    clockCapMs: 1_000,
  })
}

async function plan(group: LeaseGroup, targets: ReadonlyMap<string, string>): Promise<void> {
  const { membershipVersion } = await group.read()
  await group.plan({ membershipVersion, targets, rebalances: true })
}

/** All that the plan gives to a host. */
async function acquire(group: LeaseGroup, name: string): Promise<void> {
  const { leases } = await group.read()
  const own = leases.filter(({ target }) => target === name)
  await group.acquire({ ...identity(name), leaseIds: own.map(({ id }) => id) })
}
