import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type Collection } from '@tidemark/store'

/** One of many changes of a key; each is a document of its own, so that none hides another. */
export interface SoakEvent {
  /** `key:number`. */
  readonly id: string
  readonly key: string
}

export interface SoakStore extends AsyncDisposable {
  readonly events: Collection<SoakEvent>
}

export const SOAK_GROUP = 'soak'
const RANGES = 4
/** Documents are swept and their pending deletes purged, so that a store under a steady load keeps its size. */
const LIFE_SECONDS = 90
const PENDING_DELETE_SECONDS = 5

export async function openSoakStore(folder: string): Promise<SoakStore> {
  const engine = await openSqliteEngine({ folder: join(folder, 'store') })
  const store = await Store.open({ engine })
  const database = await store.createDatabaseIfNotExists('soak')
  const events = await database.createCollectionIfNotExists<SoakEvent>({
    id: 'events',
    partitionKey: '/key',
    partitionCount: RANGES,
    defaultTtl: LIFE_SECONDS,
    pendingDeletes: { retentionSeconds: PENDING_DELETE_SECONDS },
  })
  return { events, [Symbol.asyncDispose]: () => store.close() }
}
