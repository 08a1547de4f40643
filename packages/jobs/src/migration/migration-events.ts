import type { RangeEventBase, WorkerEvent } from '../workers/job-host.ts'
import type { DeletesUnseen } from '../workers/unseen-deletes.ts'
import type { DocumentKey } from './document-key.ts'

/** Events of one worker of a migration. Branch on `kind`. */
export type MigrationEvent =
  | WorkerEvent
  /** A write of this worker was refused because a later owner of the range has written. */
  | ({ readonly kind: 'fenced' } & RangeEventBase)
  /** A batch was applied. `documents` are first versions, `updates` later ones. */
  | ({
      readonly kind: 'applied'
      readonly changes: number
      readonly documents: number
      readonly updates: number
      readonly moves: number
      /** Documents that were removed from the source, and their copies from the target. */
      readonly expired: number
      readonly deleted: number
      /** Changes that had been applied before. */
      readonly replays: number
    } & RangeEventBase)
  | DeletesUnseen
  /** Another document has the target key; this one waits for it and has no copy until then. */
  | { readonly kind: 'collision'; readonly source: DocumentKey; readonly target: DocumentKey }
  /** The progress could not be read. The worker retries at the next interval. */
  | { readonly kind: 'failure'; readonly what: 'progress'; readonly error: unknown }
