import { Redis } from 'ioredis'
import { DocumentLeaseStore, RedisLeaseStore, type Database, type LeaseStore } from 'tidemark'

/** Where the workers' leases are, with what has to be closed at the end. */
export interface OpenedLeases extends AsyncDisposable {
  readonly store: LeaseStore
}

/** Leases on Redis if there is a URL, else as documents in the database that is migrated. */
export function openLeases(database: Database, redisUrl: string | undefined): OpenedLeases {
  if (redisUrl !== undefined) {
    const redis = new Redis(redisUrl)
    redis.on('error', (error) => console.error(`redis: ${error.message}`))
    return {
      store: new RedisLeaseStore(redis),
      async [Symbol.asyncDispose]() {
        await redis.quit()
      },
    }
  }
  const store = new DocumentLeaseStore(database.collection('leases'), {
    createIfMissing: () =>
      database.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
  })
  return { store, async [Symbol.asyncDispose]() {} }
}
