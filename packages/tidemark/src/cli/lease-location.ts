import {
  InvalidOptionError,
  LeaseStoreUnavailableError,
  type LeaseStore,
} from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { loadRedis } from '../platform/optional-packages.ts'

/** An opened place of leases, with what must be closed at the end. */
export interface OpenedLeases extends AsyncDisposable {
  readonly store: LeaseStore
}

export interface LeaseLocationOptions {
  readonly store: Store | undefined
  /** `fail`: for commands that work on existing leases. */
  readonly missing: 'create' | 'fail'
  /** Allows workers to keep leases on a Redis that loses everything at a restart. @default false */
  readonly allowVolatile?: boolean | undefined
}

const CONNECT_LIMIT_MS = 5_000

/**
 * Opens `redis://…`, `rediss://…`, or `database/collection` of the store.
 *
 * Rejects with ERR_INVALID_OPTION when it is neither, with ERR_MISSING_PACKAGE without `ioredis`, with
 * ERR_LEASE_STORE_UNAVAILABLE when the server cannot be reached.
 */
export async function openLeases(
  location: string,
  { store, missing, allowVolatile }: LeaseLocationOptions,
): Promise<OpenedLeases> {
  if (/^rediss?:/i.test(location)) {
    // Existing leases can be read and repaired anywhere.
    return openRedisLeases(redisUrl(location), {
      allowVolatile: allowVolatile === true || missing === 'fail',
    })
  }
  const [databaseId, collectionId, ...rest] = location.split('/')
  if (!databaseId || !collectionId || rest.length > 0) {
    throw new InvalidOptionError(
      `--leases must be redis://host:port or database/collection, got ${JSON.stringify(hideCredentials(location))}`,
    )
  }
  if (store === undefined) {
    throw new InvalidOptionError(`--leases ${location} needs --store, the store that it is in`)
  }
  const database = store.database(databaseId)
  const collection = database.collection(collectionId)
  const create = async (): Promise<void> => {
    await database.createCollectionIfNotExists({ id: collectionId, partitionKey: '/partitionKey' })
  }
  const leases = new DocumentLeaseStore(collection, {
    createIfMissing: missing === 'create' ? create : undefined,
  })
  return { store: leases, async [Symbol.asyncDispose]() {} }
}

/** The possible places of leases: the one of `--leases`, else the collections of the store with that name. */
export async function leaseLocations(
  leases: string | undefined,
  store: Store | undefined,
): Promise<readonly string[]> {
  if (leases !== undefined || store === undefined) return leases === undefined ? [] : [leases]
  return (await store.listCollections())
    .filter(({ record }) => record.id === 'leases')
    .map(({ databaseId, record }) => `${databaseId}/${record.id}`)
}

/** The first of the places that has leases of a group; undefined when none has. Rejects as `openLeases`. */
export async function openLeasesOf(
  group: string,
  { leases, store }: { readonly leases: string | undefined; readonly store: Store },
): Promise<OpenedLeases | undefined> {
  for (const location of await leaseLocations(leases, store)) {
    const opened = await openLeases(location, { store, missing: 'fail' })
    try {
      // To open a missing group would create it.
      if ((await opened.store.listGroups()).includes(group)) return opened
    } catch (error) {
      await opened[Symbol.asyncDispose]()
      throw error
    }
    await opened[Symbol.asyncDispose]()
  }
  return undefined
}

/** Checked before the client parses it: otherwise parts of a password could become the host in an error message. */
function redisUrl(text: string): string {
  const url = URL.parse(text)
  const isWhole =
    url !== null &&
    /^rediss?:\/\//i.test(text) &&
    /^\/?\d*$/.test(url.pathname) &&
    url.hash === '' &&
    !url.search.includes('@')
  if (isWhole) return text.replace(/^rediss?/i, (scheme) => scheme.toLowerCase())
  throw new InvalidOptionError(
    'leases on Redis must look like redis://user:password@host:6379/0, ' +
      'with %-escapes for special characters in the password',
  )
}

async function openRedisLeases(
  url: string,
  { allowVolatile }: { readonly allowVolatile: boolean },
): Promise<OpenedLeases> {
  const { Redis } = await loadRedis()
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_LIMIT_MS,
    maxRetriesPerRequest: null,
  })
  let lastError: unknown
  redis.on('error', (error) => {
    lastError = error
  })
  try {
    await redis.connect()
  } catch (cause) {
    redis.disconnect()
    const { host, port } = redis.options
    const reason = lastError instanceof Error ? lastError.message : String(cause)
    throw new LeaseStoreUnavailableError(`Redis at ${host}:${port} cannot be reached: ${reason}`, {
      cause,
    })
  }
  return {
    store: new RedisLeaseStore(redis, { allowVolatile }),
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}
