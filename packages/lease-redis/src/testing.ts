/**
 * The lease store with options that only tests set.
 *
 * @packageDocumentation
 * @internal
 */

import type { RedisClient } from './redis-client.ts'
import { RedisLeaseStore, type TimedLeaseStoreOptions } from './redis-lease-store.ts'

export type { TimedLeaseStoreOptions } from './redis-lease-store.ts'

/** `RedisLeaseStore`, with options that only tests set. */
export const TimedLeaseStore: new (
  redis: RedisClient,
  options: TimedLeaseStoreOptions,
) => RedisLeaseStore = RedisLeaseStore
