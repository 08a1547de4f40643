import { CodedError } from './coded-error.ts'

/**
 * The range's request budget is spent, or too many requests are being served or waiting, of all clients or of this address or key
 * (429 on the wire).
 *
 * @remedy Wait as long as `x-ms-retry-after-ms` says and try again; clients of Azure Cosmos DB do so by themselves.
 */
export class ThrottledError extends CodedError {
  override readonly name = 'ThrottledError'
  readonly code = 'ERR_THROTTLED'
  readonly retryable = true
  /** After this the same request has a chance. */
  readonly retryAfterMs: number

  constructor(retryAfterMs: number, reason: string, options?: ErrorOptions) {
    super(`${reason}; try again in ${retryAfterMs} ms`, options)
    this.retryAfterMs = retryAfterMs
  }
}
