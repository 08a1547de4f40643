import { CodedError } from '@tidemark/contracts'

/** Another document of the same partition key value has the same values at a unique key's paths (409 on the wire). */
export class UniqueKeyError extends CodedError {
  override readonly name = 'UniqueKeyError'
  readonly code = 'ERR_UNIQUE_KEY'
  readonly retryable = false

  constructor(id: string, paths: readonly string[], options?: ErrorOptions) {
    super(
      `unique index constraint violation: another document has the values of ${JSON.stringify(id)} at ${paths.join(', ')}`,
      options,
    )
  }
}
