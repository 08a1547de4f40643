import type { FeedRange } from '../ranges/feed-range.ts'
import { feedRangeId } from '../ranges/feed-range.ts'
import { CodedError } from './coded-error.ts'

/**
 * A reader was away for too long: pending deletes, or entries of the log of all versions, were purged before it read
 * them. To continue from its position would leave a gap. What it read before is right up to `lsn`.
 *
 * @remedy Start again from the beginning or from now, or let the host do it with `onHorizonPassed: 'resync'`. A longer
 * retention, or naming the group in `pendingDeletes.waitFor`, prevents it.
 */
export class HorizonPassedError extends CodedError {
  override readonly name = 'HorizonPassedError'
  readonly code = 'ERR_HORIZON_PASSED'
  readonly retryable = false
  readonly range: FeedRange
  /** Where the reader stands. */
  readonly lsn: number
  /** Everything up to here may have been purged. */
  readonly horizon: number

  constructor(
    { range, lsn, horizon }: { range: FeedRange; lsn: number; horizon: number },
    options?: ErrorOptions,
  ) {
    super(
      `range ${feedRangeId(range)}: the reader is at LSN ${lsn}, and what expired or was kept up to ` +
        `LSN ${horizon} is purged; read it again from the beginning`,
      options,
    )
    this.range = range
    this.lsn = lsn
    this.horizon = horizon
  }
}
