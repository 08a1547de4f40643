import { CodedError } from './coded-error.ts'

/**
 * An option is unknown, of the wrong type or out of its range, or contradicts another one. The message names it.
 *
 * @remedy Correct the option. The message says what is expected.
 */
export class InvalidOptionError extends CodedError {
  override readonly name = 'InvalidOptionError'
  readonly code = 'ERR_INVALID_OPTION'
  readonly retryable = false
}
