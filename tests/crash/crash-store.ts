import type { Stored } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { openEngineAt, type StorePlace } from './store-place.ts'

export interface CrashDocument {
  readonly id: string
  readonly lane: string
  /** Which operation wrote it. */
  readonly version: string
  readonly filler: string
}

export interface CrashStore extends AsyncDisposable {
  readonly store: Store
  readonly documents: Collection<CrashDocument>
}

/** Few, so that every one of them is sealed and followed by another several times in a run. */
const SEGMENT_SLOTS = 5_000
const PARTITIONS = 6

/** Opens or makes the store of a crash run. */
export async function openCrashStore(place: StorePlace): Promise<CrashStore> {
  const engine = await openEngineAt(place, { segmentSlots: SEGMENT_SLOTS })
  const store = await Store.open({ engine })
  const database = await store.createDatabaseIfNotExists('crash')
  const documents = await database.createCollectionIfNotExists<CrashDocument>({
    id: 'documents',
    partitionKey: '/lane',
    partitionCount: PARTITIONS,
  })
  return { store, documents, [Symbol.asyncDispose]: () => store.close() }
}

/** Names a document over all lanes. */
export function keyOf({ lane, id }: Pick<Stored<CrashDocument>, 'lane' | 'id'>): string {
  return `${lane}/${id}`
}
