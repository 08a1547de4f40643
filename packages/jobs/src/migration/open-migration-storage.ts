import { errorCode, type DocumentBody } from '@tidemark/contracts'
import type { Collection, Database } from '@tidemark/store'
import {
  STATE_PARTITION_KEY,
  claimState,
  databaseLedger,
  type JobRecord,
} from '../effectively-once/ledger.ts'
import { reconcileNote } from '../effectively-once/reconcile.ts'
import type { ExpiryCarrier } from './carry-expiry.ts'
import type { MigrationOptions, MigrationTarget } from './migration-options.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { MigrationTargetError } from './migration-target-error.ts'
import type { MigrationCounts, SourceEntry, WaitersEntry } from './state-documents.ts'

/** Finds source and target, and creates what is missing. Rejects with ERR_MIGRATION_TARGET when it cannot. */
export async function openMigrationStorage<S extends DocumentBody, T extends DocumentBody>(
  options: MigrationOptions<S, T>,
  stateId: string,
): Promise<MigrationStorage<S, T>> {
  const { job, source, target: wanted, expiry = 'carry' } = options
  const { definition } = await source.readRecord()
  const sourceTtl = expiry === 'carry' ? definition.defaultTtl : null
  const { database } = wanted
  const target = await openTarget<T>(wanted, sourceTtl)
  if (target.identity === source.identity) {
    throw new MigrationTargetError(`source and target are the same collection, ${source.id}`)
  }
  const carrier = sourceTtl === null ? undefined : await openCarrier(target, sourceTtl)
  const entries = await openStateCollection<SourceEntry>(database, stateId)
  const claimed = await claimState(database.collection<JobRecord>(stateId), {
    source: source.identity,
    target: target.identity,
  })
  if (claimed.identity !== source.identity) {
    throw new MigrationTargetError(
      `target ${database.id}/${wanted.id} has copies of another collection that was ${source.description}, which was ` +
        `created again since: delete the target and ${stateId}, or give the migration another job and target`,
    )
  }
  if (claimed.target !== target.identity) {
    throw new MigrationTargetError(
      `target ${database.id}/${wanted.id} is not the collection that job ${job} has copied to, which was dropped or is ` +
        `another one: delete ${stateId} too, for the job to start over, or give the migration another job`,
    )
  }
  return {
    ...databaseLedger<MigrationCounts>(database, { job, target, state: entries }),
    source,
    target,
    uniqueKeys: (await target.readRecord()).definition.uniqueKeys ?? [],
    entries,
    // A further handle on the same collection.
    queues: database.collection<WaitersEntry>(stateId),
    note: reconcileNote(database.collection(stateId)),
    carrier,
  }
}

/** The collection in which a migration keeps what it remembers; made if it is missing. */
export function openStateCollection<D extends DocumentBody>(
  database: Database,
  id: string,
): Promise<Collection<D>> {
  return database.createCollectionIfNotExists<D>({ id, partitionKey: STATE_PARTITION_KEY })
}

/** What copies need to expire with their documents. */
async function openCarrier<T extends DocumentBody>(
  target: Collection<T>,
  sourceTtl: number,
): Promise<ExpiryCarrier> {
  const { definition } = await target.readRecord()
  if (definition.defaultTtl !== null) return { sourceTtl, targetTtl: definition.defaultTtl }
  throw new MigrationTargetError(
    `target ${target.databaseId}/${target.id} has TTL off and the source has it on (${sourceTtl}), so ` +
      'that copies could not expire with their documents: set its defaultTtl to -1, or migrate with ' +
      'expiry "ignore"',
  )
}

async function openTarget<T extends DocumentBody>(
  { database, id, partitionKey, partitionCount, defaultTtl }: MigrationTarget,
  sourceTtl: number | null,
): Promise<Collection<T>> {
  try {
    if (partitionKey !== undefined) {
      return await database.createCollectionIfNotExists<T>({
        id,
        partitionKey,
        partitionCount,
        // One that exists has its own.
        defaultTtl:
          defaultTtl === undefined && sourceTtl !== null && !(await exists(database, id))
            ? -1
            : defaultTtl,
      })
    }
    const collection = database.collection<T>(id)
    await collection.open()
    return collection
  } catch (cause) {
    if (errorCode(cause) === undefined) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const hint =
      errorCode(cause) === 'ERR_NOT_FOUND' ? '; give its partition key to have it created' : ''
    throw new MigrationTargetError(`target ${database.id}/${id} cannot be used: ${reason}${hint}`, {
      cause,
    })
  }
}

async function exists(database: Database, id: string): Promise<boolean> {
  try {
    await database.collection(id).open()
    return true
  } catch (error) {
    if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
    return false
  }
}
