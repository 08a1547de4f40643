import { CodedError } from './coded-error.ts'

/**
 * The signature is missing, malformed or wrong. The message never says what would have been right.
 *
 * @remedy Check the key, and that nothing between client and gateway changes the path. Only master keys are accepted.
 */
export class UnauthorizedError extends CodedError {
  override readonly name = 'UnauthorizedError'
  readonly code = 'ERR_UNAUTHORIZED'
  readonly retryable = false
}
