import { FULL_RANGE, type ChangeFeedSource } from '@tidemark/contracts'
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

/**
 * A store whose collections do over HTTP what their contracts have, so that suites for collections run over the wire.
 * What the wire does not have (splits, settings, iteration) is done in process.
 */
export function storeOverHttp(store: Store, connection: CosmosConnection): Store {
  return replaced(store, {
    database: (id: string) => databaseOverHttp(store.database(id), connection),
    createDatabase: async (id: string) =>
      databaseOverHttp(await store.createDatabase(id), connection),
  })
}

function databaseOverHttp(database: Database, connection: CosmosConnection): Database {
  // Known from when it is made on, as a store's own handle is.
  const made = async (collection: Collection): Promise<Collection> => {
    const over = collectionOverHttp(collection, connection)
    await over.resolveStart({ range: FULL_RANGE, start: 'now' }).catch(() => {})
    await over.readFeedRanges()
    return over
  }
  return replaced(database, {
    collection: (id: string) => collectionOverHttp(database.collection(id), connection),
    createCollection: async (options: Parameters<Database['createCollection']>[0]) =>
      made(await database.createCollection(options)),
    createCollectionIfNotExists: async (
      options: Parameters<Database['createCollectionIfNotExists']>[0],
    ) => made(await database.createCollectionIfNotExists(options)),
  })
}

function collectionOverHttp(collection: Collection, connection: CosmosConnection): Collection {
  const name = { database: collection.databaseId, container: collection.id }
  const documents = new CosmosDocumentCollection(connection, name)
  let opened: Promise<ChangeFeedSource> | undefined
  const feed = (): Promise<ChangeFeedSource> => (opened ??= openChangeFeed(connection, name))
  const own = Object.fromEntries([
    ...DOCUMENT_METHODS.map((method) => [method, bound(documents, method)]),
    ...FEED_METHODS.map((method) => [
      method,
      async (...args: readonly unknown[]) => bound(await feed(), method)(...args),
    ]),
  ]) as object
  const positions = {
    report: async (list: never) => (await feed()).positions?.report(list),
    read: async (group: string) => (await feed()).positions?.read(group),
  }
  return replaced(collection, { ...own, positions })
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
