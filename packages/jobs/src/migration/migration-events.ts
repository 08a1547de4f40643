import type { DocumentKey } from './document-key.ts'

interface RangeEventBase {
  /** Id of the range and of its lease. */
  readonly leaseId: string
  readonly epoch: number
}

/** What one worker of a migration tells while it runs. Branch on `kind`. */
export type MigrationEvent =
  /** This process works on a range of the source from now on. */
  | ({ readonly kind: 'rangeAcquired' } & RangeEventBase)
  /** Handed over, or given back at `stop`. Nothing is done twice. */
  | ({ readonly kind: 'rangeReleased' } & RangeEventBase)
  /** Another worker goes on with it, or will. */
  | ({ readonly kind: 'rangeLost' } & RangeEventBase)
  /** A write of this worker was refused because a later owner of the range has written. */
  | ({ readonly kind: 'fenced' } & RangeEventBase)
  /** A batch was applied. `documents` are first versions, `updates` later ones. */
  | ({
      readonly kind: 'applied'
      readonly changes: number
      readonly documents: number
      readonly updates: number
      readonly moves: number
      /** Changes that had been applied before. */
      readonly replays: number
    } & RangeEventBase)
  /** Another document has the target key; this one waits for it and has no copy until then. */
  | { readonly kind: 'collision'; readonly source: DocumentKey; readonly target: DocumentKey }
  /** A batch, the feed or the lease store failed. It is tried again, for ever. */
  | {
      readonly kind: 'failure'
      readonly what: 'batch' | 'feed' | 'leaseStore' | 'progress'
      readonly error: unknown
    }
