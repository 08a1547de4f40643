import type { Collection } from '@tidemark/store'
import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
  readCosmosLeasePrefix,
  type CosmosLeasePrefixOptions,
} from '@tidemark/gateway/client'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { expect } from 'vitest'
import { KEY, openInterop, type Interop } from './interop.fixture.ts'

export const PROCESSOR = 'orders-worker'
export const MONITORED = 'dbs/interop/colls/orders'
export const LEASES = 'dbs/interop/colls/leases'

export interface PkRange {
  readonly id: string
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly parents: readonly string[]
}

/** A lease as the scalers see one. */
export interface V3Lease {
  readonly version: number
  readonly LeaseToken: string
  readonly FeedRange: { readonly Range: { readonly min: string; readonly max: string } }
  readonly ContinuationToken: string
}

/** What a scaler makes of one look at the leases. */
export interface Seen {
  readonly total: number
  /** Leases with something left. */
  readonly busy: number
  readonly leases: number
}

/** A container that a worker follows, whose leases are in another one behind the same gateway. */
export interface Followed {
  readonly interop: Interop
  readonly orders: Collection
  /** New documents, each a change of its own. */
  write(count: number): Promise<void>
  /** Lets a worker do everything, by what the scaler sees, and stops it. */
  work(look: () => Promise<Seen>): Promise<void>
  /** What the scaler sees as documents come in while no worker runs. */
  backlog(
    look: () => Promise<Seen>,
  ): Promise<{ readonly totals: number[]; readonly busy: number[] }>
}

export async function openFollowed({
  throughput,
  leasesPerRange = 1,
  endpoint,
}: {
  readonly throughput?: number
  readonly leasesPerRange?: number
  readonly endpoint?: CosmosLeasePrefixOptions['endpoint']
} = {}): Promise<Followed> {
  const interop = await openInterop()
  const { containers } = interop.database
  const partitionKey = { paths: ['/id'], version: 2 }
  await containers.create({ id: 'orders', partitionKey, ...(throughput && { throughput }) })
  await containers.create({ id: 'leases', partitionKey: '/partitionKey', throughput: 30_000 })
  const orders = interop.store.database('interop').collection('orders')
  let written = 0
  const write = async (count: number): Promise<void> => {
    const ids = Array.from({ length: count }, () => `o${written++}`)
    await Promise.all(ids.map((id) => orders.create({ id })))
  }
  return {
    interop,
    orders,
    write,
    work: async (look) => {
      const connection = new CosmosConnection({ endpoint: interop.gateway.endpoint, key: KEY })
      const monitored = { database: 'interop', container: 'orders' }
      const named = { ...monitored, processorName: PROCESSOR, endpoint }
      const leaseIdPrefix = await readCosmosLeasePrefix(connection, named)
      const container = { database: 'interop', container: 'leases' }
      const leases = new CosmosDocumentCollection(connection, container)
      const host = new ChangeFeedProcessorHost({
        hostName: 'w1',
        group: PROCESSOR,
        feed: await openChangeFeed(connection, monitored),
        leases: new DocumentLeaseStore(leases, { leaseIdPrefix }),
        feedOptions: { startFromBeginning: true, leasesPerRange },
      })
      await host.registerObserver({ processChanges: () => undefined })
      const count = (await orders.readFeedRanges()).length * leasesPerRange
      const done = { total: 0, busy: 0, leases: count }
      await expect.poll(look, { interval: 50, timeout: 30_000 }).toEqual(done)
      await host.unregisterObservers()
    },
    backlog: async (look) => {
      const totals: number[] = []
      const busy: number[] = []
      for (const more of [0, 30, 120, 200]) {
        await write(more)
        const seen = await look()
        totals.push(seen.total)
        busy.push(seen.busy)
      }
      return { totals, busy }
    },
  }
}
