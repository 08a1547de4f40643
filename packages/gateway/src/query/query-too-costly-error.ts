import { CodedError } from '@tidemark/contracts'

/** A query or a condition needs more work or memory than one may have. The message names the limit and its value. */
export class QueryTooCostlyError extends CodedError {
  override readonly name = 'QueryTooCostlyError'
  readonly code = 'ERR_QUERY_TOO_COSTLY'
  readonly retryable = false
}
