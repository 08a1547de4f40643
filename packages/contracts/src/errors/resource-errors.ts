import { CodedError } from './coded-error.ts'

/** What a resource error is about. */
export type ResourceKind =
  | 'database'
  | 'collection'
  | 'range'
  | 'document'
  | 'offer'
  | 'group'
  | 'view'

/**
 * A database, collection, document, pkrange, processor group or view does not exist.
 *
 * @remedy Check the id and the partition key value. An expired document is gone, too.
 */
export class ResourceNotFoundError extends CodedError {
  override readonly name = 'ResourceNotFoundError'
  readonly code = 'ERR_NOT_FOUND'
  readonly retryable = false
  readonly resource: ResourceKind
  readonly resourceId: string

  constructor(resource: ResourceKind, resourceId: string, options?: ErrorOptions) {
    super(`${resource} ${JSON.stringify(resourceId)} does not exist`, options)
    this.resource = resource
    this.resourceId = resourceId
  }
}

/**
 * A database, collection or document with this id exists already (409 on the wire).
 *
 * @remedy Use another id, `upsert`, or `createCollectionIfNotExists`.
 */
export class ResourceExistsError extends CodedError {
  override readonly name = 'ResourceExistsError'
  readonly code = 'ERR_EXISTS'
  readonly retryable = false
  readonly resource: ResourceKind
  readonly resourceId: string

  constructor(resource: ResourceKind, resourceId: string, options?: ErrorOptions) {
    super(`${resource} ${JSON.stringify(resourceId)} exists already`, options)
    this.resource = resource
    this.resourceId = resourceId
  }
}
