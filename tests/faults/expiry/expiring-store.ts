import { join } from 'node:path'
import { openPostgresEngine } from '@tidemark/engine-postgres'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type Collection, type MaintenanceMode, type StorageEngine } from '@tidemark/store'
import { ShiftedClock } from '@tidemark/testing'

export interface ExpiringDocument {
  readonly id: string
  readonly key: string
  readonly ttl?: number
}

export interface ExpiringStore extends AsyncDisposable {
  readonly store: Store
  readonly documents: Collection<ExpiringDocument>
}

export interface ExpiringStoreOptions {
  readonly folder: string
  /** Of a database that has the store, in place of the folder. */
  readonly postgresUrl?: string | undefined
  /** How far the process's wall clock is from the machine's. */
  readonly clockOffsetMs: number
  readonly maintenance: MaintenanceMode
}

/** Opens or makes a collection in which documents expire by their own `ttl`. */
export async function openExpiringStore({
  folder,
  postgresUrl,
  clockOffsetMs,
  maintenance,
}: ExpiringStoreOptions): Promise<ExpiringStore> {
  const clock = new ShiftedClock(clockOffsetMs)
  const engine: StorageEngine =
    postgresUrl === undefined
      ? await openSqliteEngine({ folder: join(folder, 'store'), clock })
      : await openPostgresEngine({ url: postgresUrl, clock })
  const store = await Store.open({ engine, maintenance, clock })
  const database = await store.createDatabaseIfNotExists('expiry')
  const documents = await database.createCollectionIfNotExists<ExpiringDocument>({
    id: 'documents',
    partitionKey: '/key',
    partitionCount: 4,
    defaultTtl: -1,
  })
  return { store, documents, [Symbol.asyncDispose]: () => store.close() }
}
