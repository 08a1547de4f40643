import { CodedError } from '@tidemark/contracts'

/**
 * A token or key of a shared access policy is missing, wrong, or has run out, or does not give the right that the call needs.
 *
 * @remedy Use the name and a key of a policy that has the right: Listen to receive and for rules, Send to send, Manage for
 * entities.
 */
export class UnauthorizedAccessError extends CodedError {
  override readonly name = 'UnauthorizedAccessError'
  readonly code = 'ERR_UNAUTHORIZED_ACCESS'
  readonly retryable = false
}
