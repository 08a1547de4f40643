import type { Stored } from '@tidemark/contracts'
import type { Ledger } from '../effectively-once/ledger.ts'
import type { ReconcileNote } from '../workers/job-groups.ts'
import type {
  Contribution,
  IndexedPart,
  StateKey,
  ViewCounts,
  ViewDocument,
} from './state-documents.ts'
import type { ViewKey } from './view-key.ts'

/** Where one edition of a view is kept: its documents, and what it remembers. */
export interface ViewStorage extends Ledger<ViewCounts> {
  readonly note: ReconcileNote
  readContribution(at: StateKey): Promise<Stored<Contribution> | undefined>
  /** All, in pages. */
  readContributions(): AsyncIterable<readonly Contribution[]>
  readView(key: ViewKey): Promise<Stored<ViewDocument> | undefined>
  /** Pages of parts in the order of their ids, each of about as many as asked for. */
  readIndex(partition: string, pageSize: number): AsyncIterable<readonly IndexedPart[]>
}
