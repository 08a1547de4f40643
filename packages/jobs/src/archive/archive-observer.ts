import type {
  Change,
  DocumentBody,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import type { Sink } from '../sync/sink.ts'
import type { ArchiveEvent } from './archive-events.ts'
import { expiredDocument, type ArchivedDocument } from './archived-document.ts'

/** Gives the expired documents of one leased range to the sink. */
export class ArchiveObserver<T extends DocumentBody> implements IChangeFeedObserver<T> {
  readonly #source: { readonly rid: string; readonly description: string }
  readonly #sink: Sink<ArchivedDocument<T>>
  readonly #emit: (event: ArchiveEvent) => void

  constructor(
    source: { readonly rid: string; readonly description: string },
    sink: Sink<ArchivedDocument<T>>,
    emit: (event: ArchiveEvent) => void,
  ) {
    this.#source = source
    this.#sink = sink
    this.#emit = emit
  }

  /** Resolves when the batch is durable; the host stores the position only then. */
  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const { rid, description: source } = this.#source
    const batch = changes.flatMap((change) =>
      change.kind === 'pendingDelete' ? [expiredDocument(rid, change)] : [],
    )
    const last = batch.at(-1)
    if (last === undefined) return
    const { group: job, range, fence, signal, leaseId } = context
    signal.throwIfAborted()
    await this.#sink.write(batch, { source, job, range, fence, signal })
    const { epoch } = fence
    this.#emit({ kind: 'archived', leaseId, epoch, documents: batch.length, lsn: last.lsn })
  }
}
