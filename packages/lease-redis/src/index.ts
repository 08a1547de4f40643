export type { RedisClient, RedisSubscriber } from './redis-client.ts'
export { RedisLeaseStore, type RedisLeaseStoreOptions } from './redis-lease-store.ts'
