import { CodedError } from '@tidemark/contracts'

/**
 * A query text, its parameters or its continuation cannot be served: malformed, or a construct that is
 * not supported. The message names the construct and where it stands.
 */
export class BadQueryError extends CodedError {
  override readonly name = 'BadQueryError'
  readonly code = 'ERR_BAD_QUERY'
  readonly retryable = false
  /** Characters before the place in the query text; undefined when it is not about a place. */
  readonly offset: number | undefined

  constructor(message: string, options: ErrorOptions & { offset?: number | undefined } = {}) {
    super(message, options)
    this.offset = options.offset
  }
}
