import { CodedError } from './coded-error.ts'

/**
 * No server could serve this request: it is malformed, contradicts itself, or has a value out of its range. The
 * message names it.
 *
 * @remedy Correct the header, path or property that the message names.
 */
export class BadRequestError extends CodedError {
  override readonly name = 'BadRequestError'
  readonly code = 'ERR_BAD_REQUEST'
  readonly retryable = false
}
