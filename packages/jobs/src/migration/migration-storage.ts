import type { DocumentBody, DocumentCollection } from '@tidemark/contracts'
import type { ExpiryCarrier } from './carry-expiry.ts'
import type { PlannedWrite } from './planned-write.ts'
import type { RangeOwner } from './range-owner.ts'
import type { RangeProgress, SourceEntry, WaitersEntry } from './state-documents.ts'

/** The collections that a migration works on. The last three are one collection, seen as what it holds. */
export interface MigrationStorage<S extends DocumentBody, T extends DocumentBody> {
  readonly source: DocumentCollection<S>
  readonly target: DocumentCollection<T>
  readonly entries: DocumentCollection<SourceEntry>
  readonly queues: DocumentCollection<WaitersEntry>
  readonly progress: DocumentCollection<RangeProgress>
  /** Undefined while expiry is not carried. */
  readonly carrier: ExpiryCarrier | undefined
  /**
   * All writes or none, with the owner's fence. `refused` = a condition did not hold.
   *
   * Rejects with ERR_FENCED_WRITE when a later owner has written.
   */
  commit(
    writes: readonly PlannedWrite[],
    owner: RangeOwner,
    signal: AbortSignal,
  ): Promise<'committed' | 'refused'>
}
