export { leaseStoreConformance } from './lease-store.ts'
export {
  StoreTime,
  type LeaseStoreConformance,
  type LeaseStoreUnderTest,
} from './lease-store-fixtures.ts'
export { storageEngineConformance } from './storage-engine.ts'
export type { StorageEngineConformance, StorageEngineUnderTest } from './storage-engine-fixtures.ts'
