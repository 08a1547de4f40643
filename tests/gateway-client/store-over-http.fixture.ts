import { FULL_RANGE, type ChangeFeedSource, type DocumentCollection } from '@tidemark/contracts'
import {
  CosmosDocumentCollection,
  openChangeFeed,
  type CosmosConnection,
} from '@tidemark/gateway/client'
import type { Collection, Database, Store } from '@tidemark/store'

/** What is called over HTTP: all of `DocumentCollection` and `ChangeFeedSource` that does something. */
const DOCUMENT_METHODS = [
  'read',
  'create',
  'upsert',
  'replace',
  'patch',
  'delete',
  'batch',
  'readPartition',
  'waitForCommit',
  'readFeedRanges',
] as const
const FEED_METHODS = [
  'resolveStart',
  'positionAt',
  'measureLag',
  'readPage',
  'waitForChanges',
  'joinPositions',
] as const

/** What a client does with one collection. Without a feed, the store's own is read. */
export interface CollectionByClient {
  readonly documents: DocumentCollection
  readonly feed?: () => Promise<ChangeFeedSource>
}
export type ByClient = (name: {
  readonly database: string
  readonly container: string
}) => CollectionByClient

/** By our own client. */
export function storeOverHttp(store: Store, connection: CosmosConnection): Store {
  return storeByClient(store, (name) => ({
    documents: new CosmosDocumentCollection(connection, name),
    feed: () => openChangeFeed(connection, name),
  }))
}

/**
 * A store whose collections do by a client what their contracts have, so that suites for collections run over the wire.
 * What the wire does not have (splits, settings, iteration) is done in process.
 */
export function storeByClient(store: Store, client: ByClient): Store {
  return replaced(store, {
    database: (id: string) => databaseByClient(store.database(id), client),
    createDatabase: async (id: string) => databaseByClient(await store.createDatabase(id), client),
  })
}

function databaseByClient(database: Database, client: ByClient): Database {
  // Known from when it is made on, as a store's own handle is.
  const made = async (collection: Collection): Promise<Collection> => {
    const over = collectionByClient(collection, client)
    await over.resolveStart({ range: FULL_RANGE, start: 'now' }).catch(() => {})
    await over.readFeedRanges()
    return over
  }
  return replaced(database, {
    collection: (id: string) => collectionByClient(database.collection(id), client),
    createCollection: async (options: Parameters<Database['createCollection']>[0]) =>
      made(await database.createCollection(options)),
    createCollectionIfNotExists: async (
      options: Parameters<Database['createCollectionIfNotExists']>[0],
    ) => made(await database.createCollectionIfNotExists(options)),
  })
}

function collectionByClient(collection: Collection, client: ByClient): Collection {
  const { documents, feed } = client({ database: collection.databaseId, container: collection.id })
  const methods = DOCUMENT_METHODS.filter((method) => documents[method] !== undefined)
  const own = Object.fromEntries(methods.map((method) => [method, bound(documents, method)]))
  return replaced(collection, { ...own, ...(feed && feedByClient(feed)) })
}

function feedByClient(open: () => Promise<ChangeFeedSource>): object {
  let opened: Promise<ChangeFeedSource> | undefined
  const feed = (): Promise<ChangeFeedSource> => (opened ??= open())
  const own = FEED_METHODS.map((method) => [
    method,
    async (...args: readonly unknown[]) => bound(await feed(), method)(...args),
  ])
  const positions = {
    report: async (list: never) => (await feed()).positions?.report(list),
    read: async (group: string) => (await feed()).positions?.read(group),
  }
  return { ...Object.fromEntries(own), positions } as object
}

function bound(target: object, method: string): (...args: readonly unknown[]) => unknown {
  const value: unknown = Reflect.get(target, method)
  if (typeof value !== 'function') throw new Error(`there is no method ${method}`)
  return value.bind(target) as (...args: readonly unknown[]) => unknown
}

/** The object with some of its members replaced; the others see the object itself, with its private fields. */
export function replaced<Target extends object>(target: Target, own: object): Target {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
