import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  MemoryLeaseStore,
  openStore,
  syncTo,
  type Collection,
  type Sink,
  type SinkEntry,
  type SyncOptions,
} from 'tidemark'

interface Order {
  readonly id: string
  readonly total: number
}

interface Version {
  readonly epoch: number
  readonly lsn: number
  readonly total: number | undefined
}

/** Orders versions as the ready sinks do. */
class Versions implements Sink<SinkEntry<Order>> {
  readonly ordersVersions = true
  readonly newest = new Map<string, Version>()

  async write(batch: readonly SinkEntry<Order>[]): Promise<void> {
    for (const { id, epoch, lsn, document } of batch) {
      const known = this.newest.get(id) ?? { epoch: -1, lsn: 0 }
      if (epoch < known.epoch || (epoch === known.epoch && lsn <= known.lsn)) continue
      this.newest.set(id, { epoch, lsn, total: document?.total })
    }
  }

  get totals(): Map<string, number | undefined> {
    return new Map([...this.newest].map(([id, { total }]) => [id, total]))
  }
}

test('JB-6 deletes that are read in a later epoch take nothing away that was written after them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-epoch-'))
  const sink = new Versions()
  const leases = new MemoryLeaseStore()
  const sync = async (feed: Collection<Order>, deletes: SyncOptions<Order>['deletes']) => {
    await using job = syncTo<Order>({
      feed,
      leases,
      group: 'copy',
      sink,
      deletes,
      stopWhenCaughtUp: true,
    })
    await job.start()
    await job.finished
  }
  const open = async (name: string) => {
    const store = await openStore(join(folder, name))
    const orders = await store.database('shop').createCollectionIfNotExists<Order>({
      id: 'orders',
      partitionKey: '/id',
      allVersions: { retentionSeconds: 3_600 },
    })
    return { store, orders }
  }
  try {
    const first = await open('first')
    await first.orders.upsert({ id: 'again', total: 1 })
    await first.orders.upsert({ id: 'gone', total: 1 })
    await sync(first.orders, 'apply')
    for (const id of ['again', 'gone']) await first.orders.delete(id, id)
    await first.orders.upsert({ id: 'again', total: 2 })
    // The group that reads the deletes is behind.
    await sync(first.orders, 'ignore')
    await first.store.close()
    await cp(join(folder, 'first'), join(folder, 'copy'), { recursive: true })
    const copy = await open('copy')
    await sync(copy.orders, 'apply')
    expect(sink.newest.get('again')?.epoch).toBe(1)
    expect(sink.totals).toEqual(
      new Map([
        ['again', 2],
        ['gone', undefined],
      ]),
    )
    await copy.store.close()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
