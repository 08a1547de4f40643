import { join } from 'node:path'
import type { LeaseStore } from '@tidemark/contracts'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { DocumentLeaseStore } from '@tidemark/processor'
import { Store, type Collection } from '@tidemark/store'
import { Redis } from 'ioredis'

/** One of many changes of a key; each is a document of its own, so that none hides another. */
export interface KeyedEvent {
  /** `key:number`. */
  readonly id: string
  readonly key: string
}

export interface KeyedStore extends AsyncDisposable {
  readonly events: Collection<KeyedEvent>
  readonly leases: LeaseStore
}

export interface KeyedStoreOptions {
  readonly folder: string
  /** Leases are kept in this Redis, else as documents of the same store. */
  readonly redisPort: number | undefined
}

export const GROUP = 'ranges'
const FIRST_RANGES = 4

/** Opens or makes the monitored collection and the place of the leases. */
export async function openKeyedStore({
  folder,
  redisPort,
}: KeyedStoreOptions): Promise<KeyedStore> {
  const engine = await openSqliteEngine({ folder: join(folder, 'store') })
  const store = await Store.open({ engine })
  const database = await store.createDatabaseIfNotExists('shop')
  const events = await database.createCollectionIfNotExists<KeyedEvent>({
    id: 'events',
    partitionKey: '/key',
    partitionCount: FIRST_RANGES,
  })
  if (redisPort === undefined) {
    const leases = new DocumentLeaseStore(database.collection('leases'))
    return { events, leases, [Symbol.asyncDispose]: () => store.close() }
  }
  const redis = new Redis({ host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null })
  redis.on('error', () => {})
  return {
    events,
    leases: new RedisLeaseStore(redis, { allowVolatile: true }),
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      await store.close()
    },
  }
}
