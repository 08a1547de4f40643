import { withFence, type FenceRecord, type WriteFence } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** The highest epoch of each job and range, read inside the write transaction. */
export class Fences {
  readonly #connection: Connection
  readonly #jobs = new Map<string, readonly FenceRecord[]>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Call it when another connection may have committed, or after a rollback. */
  forget(): void {
    this.#jobs.clear()
  }

  of(job: string): readonly FenceRecord[] {
    let records = this.#jobs.get(job)
    if (records === undefined) {
      records = this.#connection
        .all('SELECT min, max, epoch FROM fence WHERE job = ?', job)
        .map((row) => ({
          range: { minInclusive: textColumn(row, 0), maxExclusive: textColumn(row, 1) },
          epoch: numberColumn(row, 2),
        }))
      this.#jobs.set(job, records)
    }
    return records
  }

  /** Records the epoch of a write that was allowed. */
  remember(fence: WriteFence): void {
    const before = this.of(fence.job)
    const { minInclusive, maxExclusive } = fence.range
    const known = before.some(
      ({ range, epoch }) =>
        epoch === fence.epoch &&
        range.minInclusive === minInclusive &&
        range.maxExclusive === maxExclusive,
    )
    if (known) return
    this.#connection.run(
      'DELETE FROM fence WHERE job = ? AND min >= ? AND max <= ?',
      fence.job,
      minInclusive,
      maxExclusive,
    )
    this.#connection.run(
      'INSERT INTO fence VALUES (?, ?, ?, ?)',
      fence.job,
      minInclusive,
      maxExclusive,
      fence.epoch,
    )
    this.#jobs.set(fence.job, withFence(before, fence))
  }
}
