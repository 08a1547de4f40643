import { CodedError } from './coded-error.ts'
import type { FeedRange } from '../ranges/feed-range.ts'

/**
 * A pkrange was split or merged away (410 with substatus 1002 on the wire). `successors` cover it.
 *
 * @remedy Continue with each of `successors`, from the same continuation. Hosts and `changes()` do so automatically.
 */
export class RangeGoneError extends CodedError {
  override readonly name = 'RangeGoneError'
  readonly code = 'ERR_RANGE_GONE'
  readonly retryable = false
  readonly successors: readonly FeedRange[]

  constructor(rangeId: string, successors: readonly FeedRange[], options?: ErrorOptions) {
    const now =
      successors.length === 0
        ? 'or does not hold these keys: list the ranges again'
        : `and ${successors.length} ranges took its place`
    super(`range ${rangeId} is gone, ${now}`, options)
    this.successors = successors
  }
}
