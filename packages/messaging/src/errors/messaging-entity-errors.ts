import { CodedError } from '@tidemark/contracts'

/**
 * No queue, topic, subscription or rule has this path, or it was deleted meanwhile: by call, or because it was idle.
 *
 * @remedy Check the path, or create the entity. A link to a deleted entity stays closed, even if the entity is created again.
 */
export class MessagingEntityNotFoundError extends CodedError {
  override readonly name = 'MessagingEntityNotFoundError'
  readonly code = 'ERR_MESSAGING_ENTITY_NOT_FOUND'
  readonly retryable = false
  readonly entityPath: string

  constructor(entityPath: string, options?: ErrorOptions) {
    super(`The messaging entity '${entityPath}' could not be found.`, options)
    this.entityPath = entityPath
  }
}

/**
 * A queue, topic, subscription or rule with this name exists already. Names are compared without regard to case. Queues and topics
 * share their names.
 *
 * @remedy Use the one that exists, update it, or choose another name.
 */
export class MessagingEntityExistsError extends CodedError {
  override readonly name = 'MessagingEntityExistsError'
  readonly code = 'ERR_MESSAGING_ENTITY_EXISTS'
  readonly retryable = false
  readonly entityPath: string

  constructor(entityPath: string, options?: ErrorOptions) {
    super(`The messaging entity '${entityPath}' already exists.`, options)
    this.entityPath = entityPath
  }
}

/**
 * The entity's status forbids sending, or receiving. Settling and peeking stay possible.
 *
 * @remedy Set the entity's `status` to `Active` when it may work again.
 */
export class MessagingEntityDisabledError extends CodedError {
  override readonly name = 'MessagingEntityDisabledError'
  readonly code = 'ERR_MESSAGING_ENTITY_DISABLED'
  readonly retryable = false
  readonly entityPath: string

  constructor(entityPath: string, options?: ErrorOptions) {
    super(`The messaging entity '${entityPath}' is currently disabled.`, options)
    this.entityPath = entityPath
  }
}
