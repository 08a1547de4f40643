import { CodedError } from '@tidemark/contracts'

/** Something in the request is malformed, or does not go together. */
export class BadInputError extends CodedError {
  override readonly name = 'BadInputError'
  readonly code = 'ERR_BAD_REQUEST'
  readonly retryable = false
}

/** There is no such thing, path or row. */
export class UnknownError extends CodedError {
  override readonly name = 'UnknownError'
  readonly code = 'ERR_NOT_FOUND'
  readonly retryable = false
}
