import { CodedError } from '@tidemark/contracts'

/**
 * A query text, its parameters or its continuation cannot be served: it is malformed, or uses a construct that is not
 * supported. The message names the construct and where it stands.
 *
 * @remedy Correct the query. `docs/guide/gateway-queries.md` lists what is supported.
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
