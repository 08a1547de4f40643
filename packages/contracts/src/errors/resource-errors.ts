import { CodedError } from './coded-error.ts'

/** What a resource error is about. */
export type ResourceKind = 'database' | 'collection' | 'range' | 'document'

/** A database, collection, pkrange or document does not exist, and a pkrange never did. */
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

/** A database, collection or document of this id exists already (409 on the wire). */
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
