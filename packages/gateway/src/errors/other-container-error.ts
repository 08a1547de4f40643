import { CodedError } from '@tidemark/contracts'

/**
 * The client means a container that was deleted, and another one has its name now.
 *
 * @remedy Read the container again, and use its `_rid`. Clients of the service do so automatically.
 */
export class OtherContainerError extends CodedError {
  override readonly name = 'OtherContainerError'
  readonly code = 'ERR_OTHER_CONTAINER'
  readonly retryable = true
}
