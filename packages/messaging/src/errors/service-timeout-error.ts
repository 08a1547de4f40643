import { CodedError } from '@tidemark/contracts'

/**
 * The wait ended before there was something, such as a free session for `acceptNextSession`. Nothing was changed.
 *
 * @remedy Call again, or wait longer.
 */
export class ServiceTimeoutError extends CodedError {
  override readonly name = 'ServiceTimeoutError'
  readonly code = 'ERR_SERVICE_TIMEOUT'
  readonly retryable = true
}
