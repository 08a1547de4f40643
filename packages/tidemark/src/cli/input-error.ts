import { CodedError } from '@tidemark/contracts'

/**
 * An input cannot be read: a file, a module, or JSON. The message says which, and where.
 *
 * @remedy Correct the path or the content, and run the command again.
 */
export class InputError extends CodedError {
  override readonly name = 'InputError'
  readonly code = 'ERR_INPUT'
  readonly retryable = false
}
