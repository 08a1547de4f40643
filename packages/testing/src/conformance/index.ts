export { leaseStoreConformance } from './lease-store.ts'
export {
  identity as hostIdentity,
  newLeases,
  ownedGroup,
  position as leasePosition,
  StoreTime,
  syncRequest,
  type LeaseStoreConformance,
  type LeaseStoreUnderTest,
} from './lease-store-fixtures.ts'
export { storageEngineConformance } from './storage-engine.ts'
export type { StorageEngineConformance, StorageEngineUnderTest } from './storage-engine-fixtures.ts'
export { collectionConformance } from './collection.ts'
export type { CollectionConformance, StoreUnderTest } from './collection-fixtures.ts'
