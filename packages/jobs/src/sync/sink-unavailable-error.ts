import { CodedError } from '@tidemark/contracts'

/**
 * A sink does not answer, or asks for patience. Nothing is wrong with the changes.
 *
 * @remedy Look why the server behind the sink does not answer: the message and `cause` say what it said. The job goes on by itself.
 */
export class SinkUnavailableError extends CodedError {
  override readonly name = 'SinkUnavailableError'
  readonly code = 'ERR_SINK_UNAVAILABLE'
  readonly retryable = true
  /** How long the sink wants to be left alone, in ms; undefined if it did not say. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    {
      retryAfterMs,
      ...options
    }: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}
