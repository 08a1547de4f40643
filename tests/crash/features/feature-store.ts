import { errorCode } from '@tidemark/contracts'
import { Store, type Collection, type MaintenanceMode } from '@tidemark/store'
import { openEngineAt, type StorePlace } from '../store-place.ts'

export interface FeatureDocument {
  readonly id: string
  readonly lane: string
  /** Names the operation that wrote it; no two have the same. */
  readonly version: string
  readonly filler: string
  readonly ttl?: number
}

export interface FeatureStore extends AsyncDisposable {
  readonly store: Store
  readonly documents: Collection<FeatureDocument>
}

/** The group that purges wait for. */
export const WAITING_GROUP = 'archive'
/** Short, so that pending deletes are purged while the run goes on. */
export const RETENTION_SECONDS = 2
/** Several rounds, fewer than a run. */
export const LOG_RETENTION_SECONDS = 30
export const FIRST_DEFAULT_TTL = -1
/** A killed process keeps the others from background work for so long. */
export const MAINTENANCE_LEASE_MS = 400

const PARTITIONS = 3
/** Few, so that segments are sealed and followed by others all the time. */
const SEGMENT_SLOTS = 3_000

/** Many small pieces, hardly a pause: so that kills hit them. */
export const BUSY_MAINTENANCE: MaintenanceMode = {
  intervalMs: 40,
  leaseMs: MAINTENANCE_LEASE_MS,
  maxItems: 60,
  pauseMs: 1,
}

/** Opens or makes the store of a run with everything switched on. */
export async function openFeatureStore({
  place,
  maintenance,
}: {
  readonly place: StorePlace
  readonly maintenance: MaintenanceMode
}): Promise<FeatureStore> {
  const engine = await openEngineAt(place, { segmentSlots: SEGMENT_SLOTS })
  const store = await Store.open({ engine, maintenance })
  const database = await store.createDatabaseIfNotExists('crash')
  // One that exists has the settings that a writer gave it since.
  const documents = database.collection<FeatureDocument>('documents')
  await ignoringExists(() =>
    database.createCollection({
      id: 'documents',
      partitionKey: '/lane',
      partitionCount: PARTITIONS,
      defaultTtl: FIRST_DEFAULT_TTL,
      pendingDeletes: { retentionSeconds: RETENTION_SECONDS, waitFor: [WAITING_GROUP] },
      allVersions: { retentionSeconds: LOG_RETENTION_SECONDS, previousImages: true },
    }),
  )
  return { store, documents, [Symbol.asyncDispose]: () => store.close() }
}

async function ignoringExists(create: () => Promise<unknown>): Promise<void> {
  try {
    await create()
  } catch (error) {
    if (errorCode(error) !== 'ERR_EXISTS') throw error
  }
}

/** Names a document over all lanes. */
export function keyOf({ lane, id }: Pick<FeatureDocument, 'lane' | 'id'>): string {
  return `${lane}/${id}`
}
