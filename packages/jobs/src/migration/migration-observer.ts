import {
  errorCode,
  type Change,
  type DocumentBody,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import type { MigrationEvent } from './migration-events.ts'
import type { MigrationWriter } from './migration-writer.ts'

/** Applies the changes of one leased range of the source. */
export class MigrationObserver<
  S extends DocumentBody,
  T extends DocumentBody,
> implements IChangeFeedObserver<S> {
  readonly #writer: MigrationWriter<S, T>
  readonly #emit: (event: MigrationEvent) => void

  constructor(writer: MigrationWriter<S, T>, emit: (event: MigrationEvent) => void) {
    this.#writer = writer
    this.#emit = emit
  }

  async processChanges(context: ObserverContext, changes: readonly Change<S>[]): Promise<void> {
    const { leaseId, range, hostName, signal } = context
    const { epoch } = context.fence
    try {
      const tried = context.attempt > 1 ? await this.#writer.stillCurrent(changes) : changes
      const applied = await this.#writer.apply(tried, { range, epoch, hostName }, signal)
      const { documents, updates, moves } = applied.counts
      for (const collision of applied.collisions) this.#emit({ kind: 'collision', ...collision })
      const { replays } = applied
      const counts = { changes: changes.length, documents, updates, moves, replays }
      this.#emit({ kind: 'applied', leaseId, epoch, ...counts })
    } catch (error) {
      if (errorCode(error) !== 'ERR_FENCED_WRITE') throw error
      this.#emit({ kind: 'fenced', leaseId, epoch })
      // Another worker has this range. Neither done (that would checkpoint) nor worth a retry: the host
      // finds out with its next heartbeat and aborts.
      await untilAborted(signal)
      throw error
    }
  }
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
