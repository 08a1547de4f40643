import { errorCode, type DocumentBody, type Stored } from '@tidemark/contracts'
import type { AtomicOperation, Collection, Database } from '@tidemark/store'
import {
  STATE_PARTITION_KEY,
  VIEW_PARTITION_KEY,
  progressKey,
  viewDocumentKey,
  PROGRESS_PARTITION,
  type Contribution,
  type IndexedPart,
  type RangeProgress,
  type ViewDocument,
} from './state-documents.ts'
import { stateCollectionId, viewCollectionId, type ViewEdition } from './view-record.ts'
import type { ViewStorage, ViewWrite } from './view-storage.ts'

/** The collections of one edition, made if they are missing. */
export interface OpenedViewStorage extends ViewStorage {
  readonly collection: Collection<ViewDocument>
  /** Of what is remembered: another one starts from the beginning. */
  readonly identity: string
  readAllProgress(): Promise<readonly Stored<RangeProgress>[]>
}

export async function openViewStorage(
  database: Database,
  name: string,
  edition: ViewEdition,
  { partitionCount }: { readonly partitionCount?: number | undefined } = {},
): Promise<OpenedViewStorage> {
  const view = await database.createCollectionIfNotExists<ViewDocument>({
    id: viewCollectionId(name, edition),
    partitionKey: VIEW_PARTITION_KEY,
    partitionCount,
  })
  const id = stateCollectionId(name, edition)
  const contributions = await database.createCollectionIfNotExists<Contribution>({
    id,
    partitionKey: STATE_PARTITION_KEY,
    partitionCount,
    defaultTtl: -1,
  })
  // Further handles on the same collection, each for one kind of its documents.
  const progress = database.collection<RangeProgress>(id)
  const index = database.collection<IndexedPart>(id)
  const job = `view ${name} ${edition.number}`
  return {
    collection: view,
    identity: contributions.identity,
    readContribution: (at) => readAt(contributions, at),
    async readView(key) {
      return (await view.read(viewDocumentKey(key).id, key)).document
    },
    readProgress: (owner) => readAt(progress, progressKey(owner)),
    async readAllProgress() {
      return (await progress.readPartition(PROGRESS_PARTITION)).documents
    },
    async *readIndex(partition, maxItemCount) {
      let continuation: string | undefined
      do {
        const page = await index.readDocuments({
          partitionKey: partition,
          maxItemCount,
          continuation,
        })
        yield page.documents
        continuation = page.continuation
      } while (continuation !== undefined)
    },
    async commit(writes, { range, epoch, group }, signal) {
      const atomicWrites = writes.map((write) => {
        return {
          collection: write.to === 'view' ? view : contributions,
          operation: operation(write),
        }
      })
      const fence = { job: group === 'documents' ? job : `${job}/deletes`, range, epoch }
      try {
        await database.commitAtomically(atomicWrites, { fence, signal })
        return 'committed'
      } catch (error) {
        if (isRefusal(error)) return 'refused'
        throw error
      }
    },
  }
}

async function readAt<D extends DocumentBody>(
  collection: Collection<D>,
  { partition, id }: { readonly partition: string; readonly id: string },
): Promise<Stored<D> | undefined> {
  return (await collection.read(id, partition)).document
}

function operation(write: ViewWrite): AtomicOperation {
  const { ifMatch, ifNoneMatch } = write
  if (write.kind === 'put') return { kind: 'put', document: write.document, ifMatch, ifNoneMatch }
  const { kind, id, partition: partitionKey } = write
  return { kind, id, partitionKey, ifMatch, ifNoneMatch }
}

/** A condition did not hold; a document that is invalid is something else. */
function isRefusal(error: unknown): boolean {
  return (
    errorCode(error) === 'ERR_ATOMIC_WRITE_FAILED' &&
    error instanceof Error &&
    errorCode(error.cause) === 'ERR_PRECONDITION_FAILED'
  )
}
