import type { Collection, CollectionOptions, Database } from '@tidemark/store'
import { documentPages } from '../workers/document-pages.ts'
import { STATE_PARTITION_KEY, databaseLedger } from '../effectively-once/ledger.ts'
import { reconcileNote } from '../effectively-once/reconcile.ts'
import {
  CONTRIBUTIONS,
  VIEW_PARTITION_KEY,
  viewDocumentKey,
  type Contribution,
  type IndexedPart,
  type ViewCounts,
  type ViewDocument,
} from './state-documents.ts'
import { stateCollectionId, viewCollectionId, type ViewEdition } from './view-record.ts'
import type { ViewStorage } from './view-storage.ts'

/** The collections of one edition, made if they are missing. */
export interface OpenedViewStorage extends ViewStorage {
  readonly collection: Collection<ViewDocument>
  /** Of what is remembered: another one starts from the beginning. */
  readonly identity: string
}

export async function openViewStorage(
  database: Database,
  name: string,
  edition: ViewEdition,
  { partitionCount, allVersions }: Pick<CollectionOptions, 'partitionCount' | 'allVersions'> = {},
): Promise<OpenedViewStorage> {
  const view = await database.createCollectionIfNotExists<ViewDocument>({
    id: viewCollectionId(name, edition),
    partitionKey: VIEW_PARTITION_KEY,
    partitionCount,
    allVersions,
  })
  const id = stateCollectionId(name, edition)
  const contributions = await database.createCollectionIfNotExists<Contribution>({
    id,
    partitionKey: STATE_PARTITION_KEY,
    partitionCount,
    defaultTtl: -1,
  })
  // A further handle on the same collection.
  const index = database.collection<IndexedPart>(id)
  const job = `view ${name} ${edition.number}`
  return {
    ...databaseLedger<ViewCounts>(database, { job, target: view, state: contributions }),
    collection: view,
    identity: contributions.identity,
    note: reconcileNote(database.collection(id)),
    async readContribution({ id: document, partition }) {
      return (await contributions.read(document, partition)).document
    },
    async *readContributions() {
      for (const partitionKey of CONTRIBUTIONS)
        yield* documentPages(contributions, { partitionKey })
    },
    async readView(key) {
      return (await view.read(viewDocumentKey(key).id, key)).document
    },
    readIndex: (partitionKey, maxItemCount) => documentPages(index, { partitionKey, maxItemCount }),
  }
}
