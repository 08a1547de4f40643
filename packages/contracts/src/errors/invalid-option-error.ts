import { CodedError } from './coded-error.ts'

/** An option, or a combination of options, is out of its range. The message names the option. */
export class InvalidOptionError extends CodedError {
  override readonly name = 'InvalidOptionError'
  readonly code = 'ERR_INVALID_OPTION'
  readonly retryable = false
}
