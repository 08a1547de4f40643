import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '@tidemark/contracts'
import { openMemoryEngine } from '@tidemark/engine-sqlite'
import { openTestedEngine } from '@tidemark/engine-sqlite/testing'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { Store, type Collection } from '@tidemark/store'

/*
 * What the oldest Node runs of the built packages: every kind of read and of background work of a folder and of a store
 * in memory, and a host. Written as a user of that Node has to: without `await using`.
 */

interface Order {
  readonly id: string
  readonly customer: string
  readonly ttl?: number
}

let aheadMs = 0
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs }
const folder = await mkdtemp(join(tmpdir(), 'tidemark-floor-'))
try {
  for (const engine of [
    await openTestedEngine({ folder, durability: 'relaxed', clock, segmentSlots: 40 }),
    openMemoryEngine({ clock }),
  ]) {
    const store = await Store.open({ engine, clock, maintenance: 'manual' })
    try {
      await run(store)
    } finally {
      await store.close()
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log(`node ${process.versions.node}: a store in a folder and a host do what they should`)

async function run(store: Store): Promise<void> {
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
    partitionCount: 2,
    defaultTtl: -1,
    allVersions: { retentionSeconds: 60 },
    pendingDeletes: { retentionSeconds: 24 * 3600 },
    uniqueKeys: [['/id']],
  })
  for (let n = 0; n < 200; n++) {
    const id = `o${n}`
    const customer = `c${n % 20}`
    await orders.upsert(n % 10 === 0 ? { id, customer, ttl: 10 } : { id, customer })
  }
  await readEverything(orders, { live: 200, expired: 0 })
  aheadMs += 60_000
  // What has expired is a pending delete once maintenance has come by.
  await readEverything(orders, { live: 180, expired: 0 })
  // Until maintenance has filed them again, conditions compute when documents expire.
  await orders.updateSettings({ defaultTtl: 3600 })
  await readEverything(orders, { live: 180, expired: 0 })
  await reshape(orders)
  await readEverything(orders, { live: 180, expired: 0 })
  await store.runMaintenance()
  await readEverything(orders, { live: 180, expired: 20 })
  assert.deepEqual(await store.check(), [])
  await runHost(store, orders)
  aheadMs += 40 * 24 * 3600 * 1000
  await store.runMaintenance()
  await shop.deleteCollection('orders')
  await store.runMaintenance()
  assert.deepEqual(await store.check(), [])
}

async function readEverything(
  orders: Collection<Order>,
  { live, expired }: { readonly live: number; readonly expired: number },
): Promise<void> {
  assert.equal(await orders.count(), live)
  const read: string[] = []
  let continuation: string | undefined
  do {
    const page = await orders.readDocuments({ maxItemCount: 30, continuation })
    read.push(...page.documents.map(({ id }) => id))
    continuation = page.continuation
  } while (continuation !== undefined)
  assert.equal(new Set(read).size, live)
  const { documents } = await orders.readPartition('c1')
  assert.equal(documents.length, 10)
  const kinds = { document: new Set<string>(), pendingDelete: new Set<string>() }
  const latest = {
    from: 'beginning',
    follow: false,
    maxItemCount: 30,
    pendingDeletes: true,
  } as const
  for await (const { changes } of orders.changes(latest)) {
    for (const { kind, id } of changes) if (kind in kinds) kinds[kind as keyof typeof kinds].add(id)
  }
  assert.deepEqual([kinds.document.size, kinds.pendingDelete.size], [live, expired])
  const ranges = await orders.readFeedRanges()
  for (const range of ranges) {
    const { continuation: from } = await orders.resolveStart({
      range,
      start: 'beginning',
    })
    await orders.measureLag({ range, continuation: from })
  }
}

/** Splits both ranges and merges the first two, so that ranges share segments. */
async function reshape(orders: Collection<Order>): Promise<void> {
  for (const { id } of (await orders.readPartitionKeyRanges()).ranges) await orders.split(id)
  const [first, second] = (await orders.readPartitionKeyRanges()).ranges
  assert(first !== undefined && second !== undefined)
  await orders.merge(first.id, second.id)
}

async function runHost(store: Store, orders: Collection<Order>): Promise<void> {
  const seen = new Set<string>()
  const host = new ChangeFeedProcessorHost<Order>({
    hostName: 'floor',
    group: 'floor',
    feed: orders,
    leases: new DocumentLeaseStore(store.database('shop').collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
  class Seen {
    async processChanges(_context: unknown, changes: readonly { id: string }[]): Promise<void> {
      for (const { id } of changes) seen.add(id)
    }
  }
  await host.runUntilCaughtUp(Seen)
  assert.equal(seen.size, 200) // 180, and 20 pending deletes
}
