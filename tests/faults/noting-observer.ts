import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Change,
  DocumentBody,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import type { HistoryWriter } from './history.ts'

/** Notes what it is given and what it has done. Takes a random time for each batch, so that faults hit the midst of some. */
export class NotingObserver<T extends DocumentBody> implements IChangeFeedObserver<T> {
  readonly #history: HistoryWriter
  readonly #maxMs: number

  constructor(history: HistoryWriter, maxMs: number) {
    this.#history = history
    this.#maxMs = maxMs
  }

  open({ leaseId: lease, fence }: ObserverContext): void {
    this.#history.note({ kind: 'open', lease, epoch: fence.epoch })
  }

  async processChanges(
    { leaseId: lease, fence }: ObserverContext,
    changes: readonly Change<T>[],
  ): Promise<void> {
    const { epoch } = fence
    const ids = changes.map(({ id }) => id)
    this.#history.note({ kind: 'dispatch', lease, epoch, lsns: changes.map(({ lsn }) => lsn), ids })
    await sleep(Math.random() * this.#maxMs)
    this.#history.note({ kind: 'complete', lease, epoch, ids })
  }

  close({ leaseId: lease, fence }: ObserverContext): void {
    this.#history.note({ kind: 'close', lease, epoch: fence.epoch })
  }
}
