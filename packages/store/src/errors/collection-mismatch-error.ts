import { CodedError } from '@tidemark/contracts'

/**
 * The collection exists with another partition key, other unique keys or other settings than you asked for. It was not touched.
 *
 * @remedy Ask for what it has, or for nothing: settings that you do not name are not compared. A setting is changed by
 * `collection.updateSettings()`, or `tidemark ttl set`; for another partition key or other unique keys, migrate it into a new collection.
 */
export class CollectionMismatchError extends CodedError {
  override readonly name = 'CollectionMismatchError'
  readonly code = 'ERR_COLLECTION_MISMATCH'
  readonly retryable = false
  readonly collectionId: string

  constructor(
    collectionId: string,
    {
      what,
      present,
      wanted,
      change,
    }: {
      readonly what: string
      readonly present: string
      readonly wanted: string
      /** How it could be changed. */
      readonly change: string
    },
  ) {
    super(
      `collection ${JSON.stringify(collectionId)} exists with ${what} ${present}, not ${wanted}: ${change}`,
    )
    this.collectionId = collectionId
  }
}
