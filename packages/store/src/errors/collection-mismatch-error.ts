import { CodedError } from '@tidemark/contracts'

/**
 * The collection exists with another partition key, or other unique keys, than you asked for. It was not touched.
 *
 * @remedy Open it with the definition it has, or migrate it into a new collection.
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
    }: { readonly what: string; readonly present: string; readonly wanted: string },
  ) {
    super(
      `collection ${JSON.stringify(collectionId)} exists with ${what} ${present}, not ${wanted}`,
    )
    this.collectionId = collectionId
  }
}
