import { CodedError } from '@tidemark/contracts'

/**
 * The sender, receiver or broker was closed before, or while, this call ran.
 *
 * @remedy Make a new sender or receiver. Messages that are locked can be settled through another receiver of the entity.
 */
export class LinkClosedError extends CodedError {
  override readonly name = 'LinkClosedError'
  readonly code = 'ERR_LINK_CLOSED'
  readonly retryable = false

  /** `link` is what was closed, such as `the receiver of 'orders'`. */
  constructor(link: string, options?: ErrorOptions) {
    super(`${link} is closed`, options)
  }
}
