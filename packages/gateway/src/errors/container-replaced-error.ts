import { CodedError } from '@tidemark/contracts'

/**
 * The pkrange that the client names is of a container that was deleted, and another one has its name now.
 *
 * @remedy Read the container and its pkranges again. Clients of the service do so automatically.
 */
export class ContainerReplacedError extends CodedError {
  override readonly name = 'ContainerReplacedError'
  readonly code = 'ERR_CONTAINER_REPLACED'
  readonly retryable = true
}
