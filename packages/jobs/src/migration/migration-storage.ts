import type { DocumentBody, DocumentCollection } from '@tidemark/contracts'
import type { Collection, UniqueKey } from '@tidemark/store'
import type { Ledger } from '../effectively-once/ledger.ts'
import type { ReconcileNote } from '../workers/job-groups.ts'
import type { ExpiryCarrier } from './carry-expiry.ts'
import type { MigrationCounts, SourceEntry, WaitersEntry } from './state-documents.ts'

/** The collections that a migration works on. Entries, queues and progress are one collection, seen as what it holds. */
export interface MigrationStorage<
  S extends DocumentBody,
  T extends DocumentBody,
> extends Ledger<MigrationCounts> {
  readonly note: ReconcileNote
  readonly source: DocumentCollection<S>
  readonly target: Collection<T>
  /** Those of the target. */
  readonly uniqueKeys: readonly UniqueKey[]
  readonly entries: Collection<SourceEntry>
  readonly queues: DocumentCollection<WaitersEntry>
  /** Undefined while expiry is not carried. */
  readonly carrier: ExpiryCarrier | undefined
}
