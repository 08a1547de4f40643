import type { DocumentBody, EtagConditions, FeedRange, Stored } from '@tidemark/contracts'
import type {
  Contribution,
  IndexedPart,
  RangeProgress,
  StateKey,
  ViewDocument,
} from './state-documents.ts'
import type { ViewKey } from './view-key.ts'

/** Who writes: a lease of one of the view's two groups, whose epochs are not comparable. */
export interface ViewOwner {
  readonly group: 'documents' | 'deletes'
  readonly range: FeedRange
  readonly epoch: number
  readonly hostName: string
}

/** One write of a commit. Of `check` only the condition counts. */
export type ViewWrite = EtagConditions &
  (
    | { readonly to: 'view' | 'state'; readonly kind: 'put'; readonly document: DocumentBody }
    | {
        readonly to: 'view' | 'state'
        readonly kind: 'delete' | 'check'
        readonly partition: ViewKey
        readonly id: string
      }
  )

/** Where one edition of a view is kept: its documents, and what it remembers. */
export interface ViewStorage {
  readContribution(at: StateKey): Promise<Stored<Contribution> | undefined>
  readView(key: ViewKey): Promise<Stored<ViewDocument> | undefined>
  readProgress(owner: ViewOwner): Promise<Stored<RangeProgress> | undefined>
  /** Pages of parts in the order of their ids, each of about as many as asked for. */
  readIndex(partition: string, pageSize: number): AsyncIterable<readonly IndexedPart[]>
  /**
   * All writes or none, with the owner's fence. `refused`: a condition did not hold.
   *
   * Rejects with ERR_FENCED_WRITE when a later owner has written.
   */
  commit(
    writes: readonly ViewWrite[],
    owner: ViewOwner,
    signal: AbortSignal,
  ): Promise<'committed' | 'refused'>
}
