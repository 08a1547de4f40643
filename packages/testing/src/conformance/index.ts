export { leaseStoreConformance } from './lease-store.ts'
export {
  StoreTime,
  type LeaseStoreConformance,
  type LeaseStoreUnderTest,
} from './lease-store-fixtures.ts'
