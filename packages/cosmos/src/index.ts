/**
 * Feeds, documents and leases of an Azure Cosmos DB account.
 *
 * @packageDocumentation
 * @public
 */

export {
  exportV3Leases,
  type ExportedLease,
  type ExportV3LeasesOptions,
} from './v3-leases/export-v3-leases.ts'
export { importV3Leases, type ImportV3LeasesOptions } from './v3-leases/import-v3-leases.ts'
export { LeasesInUseError } from './v3-leases/leases-in-use-error.ts'
export type { V3ProcessorOptions } from './v3-leases/v3-processor.ts'
export type { V3Reader } from './v3-leases/v3-prefix.ts'
export type { CosmosContainer } from './cosmos-container.ts'
export {
  changeFeedProcessor,
  changeFeedProcessorWithAllVersionsAndDeletes,
  type ChangeFeedProcessorBuilder,
  type ChangeFeedProcessorContext,
  type ChangesHandler,
  type LeaseConfiguration,
} from './builder/change-feed-processor-builder.ts'
export type {
  ChangeFeedProcessor,
  ErrorNotification,
  LeaseNotification,
} from './builder/change-feed-processor.ts'
export { cosmosDocuments } from './documents/cosmos-documents.ts'
export { cosmosFeed } from './feed/cosmos-feed.ts'
export type { CosmosFeedOptions } from './feed/feed-options.ts'
export { cosmosLeases, type CosmosLeasesOptions } from './cosmos-leases.ts'
export { readCosmosLeasePrefix, type CosmosLeasePrefixOptions } from './cosmos-lease-prefix.ts'
