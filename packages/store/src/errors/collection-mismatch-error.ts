import { CodedError } from '@tidemark/contracts'

/** The collection exists with another partition key than the one that was asked for. It was not touched. */
export class CollectionMismatchError extends CodedError {
  override readonly name = 'CollectionMismatchError'
  readonly code = 'ERR_COLLECTION_MISMATCH'
  readonly retryable = false
  readonly collectionId: string

  constructor(collectionId: string, present: string, wanted: string) {
    super(
      `collection ${JSON.stringify(collectionId)} exists with partition key ${present}, not ${wanted}`,
    )
    this.collectionId = collectionId
  }
}
