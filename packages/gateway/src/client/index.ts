/**
 * Feeds and collections of such a server, over HTTP.
 *
 * @packageDocumentation
 * @public
 */

export { CosmosConnection, type CosmosConnectionOptions } from './cosmos-connection.ts'
export { CosmosDocumentCollection } from './cosmos-document-collection.ts'
export { readCosmosLeasePrefix, type CosmosLeasePrefixOptions } from './cosmos-lease-prefix.ts'
export { openChangeFeed } from './open-change-feed.ts'
export type { ChangeFeedOptions, OpenFeedOptions } from './feed-options.ts'
export type { HttpFetch, HttpResponse } from './platform/http-fetch.ts'
export type { ContainerName } from './remote-container.ts'
