import { newerEpochOf } from './newer-epoch.ts'
import type { PumpEnding } from './pump-ending.ts'
import type { PumpNotice } from './pump-events.ts'

/**
 * Looks whether what an observer or a sink for dead letters failed with says that a newer owner has written. Then nothing
 * that is written at this epoch can succeed, however often it is tried, and it is nobody's fault: the pump ends, and its
 * lease has to be got at a new epoch.
 */
export class FenceWatch {
  readonly #epoch: number
  readonly #ending: PumpEnding
  readonly #onNotice: (notice: PumpNotice) => void

  constructor({
    epoch,
    ending,
    onNotice,
  }: {
    readonly epoch: number
    readonly ending: PumpEnding
    readonly onNotice: (notice: PumpNotice) => void
  }) {
    this.#epoch = epoch
    this.#ending = ending
    this.#onNotice = onNotice
  }

  /** Whether `error` says so. */
  sees(error: unknown): boolean {
    const currentEpoch = newerEpochOf(error, this.#epoch)
    if (currentEpoch === undefined) return false
    if (this.#ending.ask('abort', 'fenced')) {
      this.#onNotice({ kind: 'leaseFenced', currentEpoch, error })
    }
    return true
  }
}
