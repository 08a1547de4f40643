/**
 * Leases on Redis or Valkey.
 *
 * @packageDocumentation
 * @public
 */

export type {
  RedisClient,
  RedisClusterClient,
  RedisCommands,
  RedisNode,
  RedisServerClient,
  RedisSubscriber,
  SubscriberOptions,
} from './redis-client.ts'
export { RedisLeaseStore, type RedisLeaseStoreOptions } from './redis-lease-store.ts'
