import { CodedError } from './coded-error.ts'

/**
 * The collection keeps no log of all versions and deletes, which this read needs.
 *
 * @remedy Turn the log on with the `allVersions` option of the collection, or with `tidemark versions set`. It holds what is
 * written from then on.
 */
export class AllVersionsOffError extends CodedError {
  override readonly name = 'AllVersionsOffError'
  readonly code = 'ERR_ALL_VERSIONS_OFF'
  readonly retryable = false

  constructor(collectionId: string, options?: ErrorOptions) {
    super(`collection ${JSON.stringify(collectionId)} keeps no log of all versions`, options)
  }
}
