import { RedisLeaseStore } from '@tidemark/lease-redis'
import { Cluster, Redis } from 'ioredis'

/** Where the leases are: documents of the store, or a Redis and how a process reaches it. */
export type LeasePlace = { readonly kind: 'documents' } | RedisPlace

export type RedisPlace =
  | { readonly kind: 'server'; readonly port: number }
  | { readonly kind: 'sentinels'; readonly ports: readonly number[]; readonly masterName: string }
  | { readonly kind: 'cluster'; readonly ports: readonly number[] }

const HOST = '127.0.0.1'

export interface OpenedLeases extends Disposable {
  readonly leases: RedisLeaseStore
}

/** Leases there; the connection is closed with it. */
export function openLeases(place: RedisPlace, commandTimeoutMs: number): OpenedLeases {
  const patient = { retryStrategy: () => 50, maxRetriesPerRequest: null }
  switch (place.kind) {
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

type Connection = ConstructorParameters<typeof RedisLeaseStore>[0] & {
  on(event: 'error', listener: () => void): unknown
  disconnect(): void
}

function opened(redis: Connection, commandTimeoutMs: number): OpenedLeases {
  // While the server is down on purpose.
  redis.on('error', () => {})
  const leases = new RedisLeaseStore(redis, { commandTimeoutMs, allowVolatile: true })
  return { leases, [Symbol.dispose]: () => redis.disconnect() }
}
