import { CodedError } from './coded-error.ts'

/** The collection keeps no log of all versions and deletes; `allVersions` of its options switches it on. */
export class AllVersionsOffError extends CodedError {
  override readonly name = 'AllVersionsOffError'
  readonly code = 'ERR_ALL_VERSIONS_OFF'
  readonly retryable = false

  constructor(collectionId: string, options?: ErrorOptions) {
    super(`collection ${JSON.stringify(collectionId)} keeps no log of all versions`, options)
  }
}
