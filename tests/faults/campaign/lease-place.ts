import type { LeaseStore } from '@tidemark/contracts'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { TimedLeaseStore } from '@tidemark/lease-redis/testing'
import { DocumentLeaseStore } from '@tidemark/processor'
import { Store } from '@tidemark/store'
import { ShiftedClock } from '@tidemark/testing'
import { Cluster, Redis } from 'ioredis'

/** Where the leases are: documents beside what is watched, or elsewhere, and how a process reaches them. */
export type LeasePlace = { readonly kind: 'beside' } | LeasesElsewhere

/** In Redis, or as documents of a store in a folder of its own. */
export type LeasesElsewhere =
  | { readonly kind: 'documents'; readonly folder: string }
  | { readonly kind: 'server'; readonly port: number }
  | { readonly kind: 'sentinels'; readonly ports: readonly number[]; readonly masterName: string }
  | { readonly kind: 'cluster'; readonly ports: readonly number[] }

const HOST = '127.0.0.1'

const clock = new ShiftedClock()

/** Sets the clock of the lease store, as this process has it. */
export function stepLeaseClock(byMs: number): void {
  clock.step(byMs)
}

/** Leases there, until the process ends. */
export async function openLeases(
  place: LeasesElsewhere,
  commandTimeoutMs: number,
): Promise<LeaseStore> {
  const patient = { retryStrategy: () => 50, maxRetriesPerRequest: null }
  switch (place.kind) {
    case 'documents': {
      const engine = await openSqliteEngine({ folder: place.folder, clock })
      const store = await Store.open({ engine, maintenance: 'manual' })
      return new DocumentLeaseStore(store.database('leases').collection('leases'))
    }
    case 'server':
      return opened(new Redis({ host: HOST, port: place.port, ...patient }), commandTimeoutMs)
    case 'sentinels': {
      const sentinels = place.ports.map((port) => ({ host: HOST, port }))
      const { masterName: name } = place
      const redis = new Redis({ sentinels, name, sentinelRetryStrategy: () => 50, ...patient })
      return opened(redis, commandTimeoutMs)
    }
    case 'cluster': {
      const nodes = place.ports.map((port) => ({ host: HOST, port }))
      return opened(new Cluster(nodes, { clusterRetryStrategy: () => 50 }), commandTimeoutMs)
    }
  }
}

type Connection = ConstructorParameters<typeof TimedLeaseStore>[0] & {
  on(event: 'error', listener: () => void): unknown
}

function opened(redis: Connection, commandTimeoutMs: number): LeaseStore {
  // While the server is down on purpose.
  redis.on('error', () => {})
  return new TimedLeaseStore(redis, {
    commandTimeoutMs,
    allowVolatile: true,
    storeTimeUs: () => Math.floor(clock.wallMs()) * 1000,
  })
}
