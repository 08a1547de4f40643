import {
  errorCode,
  lsn,
  rangeContainsEpk,
  type Change,
  type ChangeFeedSource,
  type DocumentBody,
  type DocumentCollection,
  type FeedRange,
  type PartitionKey,
  type RequestOptions,
  type Stored,
  type VersionChange,
} from '@tidemark/contracts'
import { changeEpk } from '@tidemark/contracts/internal'
import type { Collection } from '@tidemark/store'
import type { Reconcile, ReconcileNote } from '../workers/job-groups.ts'
import { newestPositions, type RangePosition } from '../workers/job-source.ts'
import type { RangeOwner } from './ledger.ts'

/** A document of the source that a job remembers. */
export interface Remembered {
  readonly id: string
  readonly partitionKey: PartitionKey
}

/**
 * For changes that were purged before the job had read them: all that it remembers is asked for, and what is missing is
 * applied as deleted, at the newest LSN of its range before it was asked for. So neither a late worker with an older version
 * brings it back, nor is a document left out that was created again. Undefined where the source is no collection of a store.
 */
export function reconciler<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  {
    writer,
    note,
    hostName = 'reconcile',
  }: {
    readonly note: ReconcileNote
    readonly writer: {
      remembered(): AsyncIterable<readonly Remembered[]>
      apply(changes: readonly Change<T>[], owner: RangeOwner, signal: AbortSignal): Promise<unknown>
    }
    readonly hostName: string | undefined
  },
): Reconcile | undefined {
  if (!isCollection<T>(source)) return undefined
  const reconcile: Reconcile['within'] = async (within, signal) => {
    // Whoever has a range, and however many do this at a time, the LSNs decide: there is nobody to fence.
    const owner = { group: 'reconcile', range: within, epoch: 1, hostName } as const
    const { version } = (await source.readRecord()).definition.partitionKey
    for await (const documents of writer.remembered()) {
      const positions = await newestPositions(source, { within, signal })
      const deletes = await Promise.all(
        documents.map(async (remembered) => {
          const gone = deleteOf(remembered, { within, positions, version })
          if (gone === undefined) return []
          const { document } = await source.read(gone.id, gone.partitionKey, { signal })
          return document === undefined ? [gone] : []
        }),
      )
      await writer.apply(deletes.flat(), owner, signal)
    }
  }
  return { note, within: reconcile }
}

/** @param state the state collection of a job */
export function reconcileNote(state: DocumentCollection<NoteRecord>): ReconcileNote {
  const at = { partition: 'job', id: 'reconcile' } as const
  const read = async (options?: RequestOptions): Promise<Stored<NoteRecord> | undefined> =>
    (await state.read(at.id, at.partition, options)).document
  return {
    isOwed: async (options) => (await read(options)) !== undefined,
    async owe(options) {
      for (;;) {
        const noted = await read(options)
        if (noted !== undefined) return () => remove(noted)
        await unless(['ERR_EXISTS'], state.create(at, options))
      }
    },
  }
  async function remove({ id, partition, _etag }: Stored<NoteRecord>): Promise<void> {
    // Another worker may have done it, too, and have owed it again since.
    const gone = ['ERR_NOT_FOUND', 'ERR_PRECONDITION_FAILED']
    await unless(gone, state.delete(id, partition, { ifMatch: _etag }))
  }
}

interface NoteRecord extends DocumentBody {
  readonly partition: 'job'
}

async function unless(codes: readonly string[], work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!codes.includes(errorCode(error) ?? '')) throw error
  }
}

function isCollection<T extends DocumentBody>(source: object): source is Collection<T> {
  return 'readRecord' in source && 'read' in source
}

/** Undefined where it is not in the interval. */
function deleteOf(
  { id, partitionKey }: Remembered,
  {
    within,
    positions,
    version,
  }: {
    readonly within: FeedRange
    readonly positions: readonly RangePosition[]
    readonly version: 1 | 2
  },
): VersionChange<never> | undefined {
  const kind = { kind: 'version', operationType: 'delete', timeToLiveExpired: false } as const
  const change = { ...kind, id, partitionKey, crts: 0, lsn: lsn(0) }
  const epk = changeEpk(change, version)
  const at = positions.find(({ range }) => rangeContainsEpk(range, epk))
  if (at === undefined || !rangeContainsEpk(within, epk)) return undefined
  return { ...change, lsn: at.lsn }
}
