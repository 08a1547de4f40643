import { CodedError } from '@tidemark/contracts'

/**
 * A query or a condition needs more work or memory than it may use. The message names the limit and its value.
 *
 * @remedy Make the query simpler or narrow it to one partition key, or raise that limit in `queryLimits` of the gateway.
 */
export class QueryTooCostlyError extends CodedError {
  override readonly name = 'QueryTooCostlyError'
  readonly code = 'ERR_QUERY_TOO_COSTLY'
  readonly retryable = false
}
