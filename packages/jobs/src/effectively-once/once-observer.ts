import {
  errorCode,
  type Change,
  type DocumentBody,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import type { RangeEventBase } from '../workers/job-host.ts'
import type { Applied } from './effectively-once.ts'
import type { RangeOwner } from './ledger.ts'

/** A write of this worker was refused because a later owner of the range has written. */
export type FencedEvent = { readonly kind: 'fenced' } & RangeEventBase

export interface OnceObserverParts<T extends DocumentBody, Counts, Note> {
  readonly group: 'documents' | 'deletes'
  readonly writer: {
    apply(
      changes: readonly Change<T>[],
      owner: RangeOwner,
      signal: AbortSignal,
    ): Promise<Applied<Counts, Note>>
  }
  readonly applied: (
    applied: Applied<Counts, Note> & { readonly changes: number },
    of: RangeEventBase,
  ) => void
  readonly fenced: (event: FencedEvent) => void
}

/** Applies the changes of one leased range of the source. */
export class OnceObserver<T extends DocumentBody, Counts, Note> implements IChangeFeedObserver<T> {
  readonly #parts: OnceObserverParts<T, Counts, Note>

  constructor(parts: OnceObserverParts<T, Counts, Note>) {
    this.#parts = parts
  }

  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const { group, writer, applied, fenced } = this.#parts
    const { leaseId, range, hostName, signal } = context
    const { epoch } = context.fence
    try {
      const done = await writer.apply(changes, { group, range, epoch, hostName }, signal)
      applied({ ...done, changes: changes.length }, { leaseId, epoch })
    } catch (error) {
      if (errorCode(error) === 'ERR_FENCED_WRITE') fenced({ kind: 'fenced', leaseId, epoch })
      // Another worker has this range, or had: the host sees which, and does not try again at this epoch.
      throw error
    }
  }
}
