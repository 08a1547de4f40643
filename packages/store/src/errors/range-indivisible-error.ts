import { CodedError } from '@tidemark/contracts'

/**
 * The pkrange cannot be split: all its documents have one effective partition key, or it has room for one only.
 *
 * @remedy Only a finer partition key helps: migrate into a collection that has one.
 */
export class RangeIndivisibleError extends CodedError {
  override readonly name = 'RangeIndivisibleError'
  readonly code = 'ERR_RANGE_INDIVISIBLE'
  readonly retryable = false
  readonly rangeId: string

  constructor(rangeId: string) {
    super(`pkrange ${rangeId} cannot be split: all its documents have one partition key value`)
    this.rangeId = rangeId
  }
}
