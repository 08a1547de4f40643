import { AllVersionsOffError, errorCode, type DocumentBody } from '@tidemark/contracts'
import type { AtomicWrite, Collection, Database } from '@tidemark/store'
import type { ExpiryCarrier } from './carry-expiry.ts'
import { partitionKeyValue } from './document-key.ts'
import type { MigrationOptions, MigrationTarget } from './migration-options.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { MigrationTargetError } from './migration-target-error.ts'
import type { PlannedWrite } from './planned-write.ts'
import {
  STATE_PARTITION_KEY,
  type RangeProgress,
  type SourceEntry,
  type WaitersEntry,
} from './state-documents.ts'

/** A migration's storage, with the target as users see it. */
export interface OpenedStorage<
  S extends DocumentBody,
  T extends DocumentBody,
> extends MigrationStorage<S, T> {
  readonly target: Collection<T>
}

/** Finds source and target, and creates what is missing. Rejects with ERR_MIGRATION_TARGET when it cannot. */
export async function openMigrationStorage<S extends DocumentBody, T extends DocumentBody>(
  options: MigrationOptions<S, T>,
  stateId: string,
): Promise<OpenedStorage<S, T>> {
  const { job, source, target: wanted, expiry = 'carry', deletes = 'ignore' } = options
  const { definition } = await source.readRecord()
  if (deletes === 'apply' && definition.allVersions === null) {
    throw new AllVersionsOffError(source.description)
  }
  const sourceTtl = expiry === 'carry' ? definition.defaultTtl : null
  const { database } = wanted
  const target = await openTarget<T>(wanted, sourceTtl)
  if (target.identity === source.identity) {
    throw new MigrationTargetError(`source and target are the same collection, ${source.id}`)
  }
  const carrier = sourceTtl === null ? undefined : await openCarrier(target, sourceTtl)
  const entries = await openStateCollection<SourceEntry>(database, stateId)
  // Further handles on the same collection, each for one kind of its documents.
  const queues = database.collection<WaitersEntry>(stateId)
  const progress = database.collection<RangeProgress>(stateId)
  return {
    source,
    target,
    entries,
    queues,
    progress,
    carrier,
    async commit(writes, { range, epoch, group }, signal) {
      const scope = group === 'copy' ? job : `${job}/${group}`
      const atomicWrites = writes.map((write): AtomicWrite => {
        return { collection: write.to === 'target' ? target : entries, operation: operation(write) }
      })
      try {
        await database.commitAtomically(atomicWrites, {
          fence: { job: scope, range, epoch },
          signal,
        })
        return 'committed'
      } catch (error) {
        if (isRefusal(error)) return 'refused'
        throw error
      }
    },
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

function operation({ operation: wanted, key, conditions }: PlannedWrite): AtomicWrite['operation'] {
  if (wanted.kind === 'put') return { ...wanted, ...conditions }
  return { kind: wanted.kind, id: key.id, partitionKey: partitionKeyValue(key), ...conditions }
}

/** A condition did not hold; a document that is invalid is something else. */
function isRefusal(error: unknown): boolean {
  return (
    errorCode(error) === 'ERR_ATOMIC_WRITE_FAILED' &&
    error instanceof Error &&
    errorCode(error.cause) === 'ERR_PRECONDITION_FAILED'
  )
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
