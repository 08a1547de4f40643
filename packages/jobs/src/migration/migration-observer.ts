import {
  errorCode,
  type Change,
  type DocumentBody,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import type { MigrationEvent } from './migration-events.ts'
import type { MigrationWriter } from './migration-writer.ts'
import type { RangeOwner } from './range-owner.ts'

/** Applies the changes of one leased range of the source. */
export class MigrationObserver<
  S extends DocumentBody,
  T extends DocumentBody,
> implements IChangeFeedObserver<S> {
  readonly #writer: MigrationWriter<S, T>
  readonly #group: RangeOwner['group']
  readonly #emit: (event: MigrationEvent) => void

  constructor(
    writer: MigrationWriter<S, T>,
    group: RangeOwner['group'],
    emit: (event: MigrationEvent) => void,
  ) {
    this.#writer = writer
    this.#group = group
    this.#emit = emit
  }

  async processChanges(context: ObserverContext, changes: readonly Change<S>[]): Promise<void> {
    const { leaseId, range, hostName, signal } = context
    const { epoch } = context.fence
    try {
      const tried = context.attempt > 1 ? await this.#writer.stillCurrent(changes) : changes
      const applied = await this.#writer.apply(
        tried,
        { range, epoch, hostName, group: this.#group },
        signal,
      )
      const { documents, updates, moves, expired, deleted } = applied.counts
      for (const collision of applied.collisions) this.#emit({ kind: 'collision', ...collision })
      const { replays } = applied
      const counts = {
        changes: changes.length,
        documents,
        updates,
        moves,
        expired,
        deleted,
        replays,
      }
      // Of the log of all versions most entries are none of its business.
      if (documents + updates + expired + deleted + replays === 0) return
      this.#emit({ kind: 'applied', leaseId, epoch, ...counts })
    } catch (error) {
      if (errorCode(error) !== 'ERR_FENCED_WRITE') throw error
      this.#emit({ kind: 'fenced', leaseId, epoch })
      // Another worker has this range, or had: the host sees which, and does not try again at this epoch.
      throw error
    }
  }
}
