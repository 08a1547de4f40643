import { FencedWriteError, type Change, type ObserverContext } from '@tidemark/contracts'
import type { FakeDocument } from '@tidemark/testing'

/** What was written, by whom. */
export interface SinkWrite {
  readonly host: string
  readonly epoch: number
  readonly id: string
}

/** A store outside, which keeps the highest epoch of each lease and refuses lower ones. */
export class FencingSink {
  readonly writes: SinkWrite[] = []
  /** Writes that were refused. */
  refusals = 0
  readonly #epochs = new Map<string, number>()

  /** @throws ERR_FENCED_WRITE */
  write(
    { leaseId, hostName, fence: { epoch } }: ObserverContext,
    changes: readonly Change<FakeDocument>[],
  ): void {
    this.admit(leaseId, epoch)
    for (const { id } of changes) this.writes.push({ host: hostName, epoch, id })
  }

  /** @throws ERR_FENCED_WRITE */
  admit(leaseId: string, epoch: number): void {
    const newest = this.#epochs.get(leaseId) ?? 0
    if (epoch < newest) {
      this.refusals += 1
      throw new FencedWriteError('sink', epoch, newest)
    }
    this.#epochs.set(leaseId, epoch)
  }

  /** Somebody has written at this epoch. */
  seen(leaseId: string, epoch: number): void {
    this.#epochs.set(leaseId, epoch)
  }
}
