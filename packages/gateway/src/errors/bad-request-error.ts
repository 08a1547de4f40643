import { CodedError } from '@tidemark/contracts'

/** A request that no server could serve: malformed, contradictory, or a value out of its range. The message names it. */
export class BadRequestError extends CodedError {
  override readonly name = 'BadRequestError'
  readonly code = 'ERR_BAD_REQUEST'
  readonly retryable = false
}
