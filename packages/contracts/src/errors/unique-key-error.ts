import { CodedError } from './coded-error.ts'

/**
 * Another document of the same partition key value has the same values at a unique key's paths (409 on the wire).
 *
 * @remedy Use other values, or change the document that holds them.
 */
export class UniqueKeyError extends CodedError {
  override readonly name = 'UniqueKeyError'
  readonly code = 'ERR_UNIQUE_KEY'
  readonly retryable = false
  /** Id of the document that was to be written. */
  readonly resourceId: string
  /** Of the unique key. */
  readonly paths: readonly string[]

  constructor(resourceId: string, paths: readonly string[], options?: ErrorOptions) {
    super(
      'unique index constraint violation: another document has the values of ' +
        `${JSON.stringify(resourceId)} at ${paths.join(', ')}`,
      options,
    )
    this.resourceId = resourceId
    this.paths = paths
  }
}
