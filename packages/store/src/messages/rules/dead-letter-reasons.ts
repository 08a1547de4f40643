import type { DeadLetterReason } from '../message-commands.ts'

/** A forwarded message that was forwarded this many times goes no further (SET-13). */
export const MAX_FORWARD_HOPS: number = 4

/** EXP-16. */
export const TTL_EXPIRED: DeadLetterReason = {
  reason: 'TTLExpiredException',
  description: 'The message expired and was dead lettered.',
}

/** SET-03. */
export function maxDeliveryCountExceeded(deliveries: number): DeadLetterReason {
  return {
    reason: 'MaxDeliveryCountExceeded',
    description: `Message could not be consumed after ${deliveries} delivery attempts.`,
  }
}

/** A copy without a session for a subscription that requires one, or a forwarded message for such a queue. */
export const SESSION_ID_IS_NULL: DeadLetterReason = {
  reason: 'Session ID is null',
  description: "Session enabled entity doesn't allow a message whose session identifier is null.",
}

/** SET-13: the destination exists, and takes no messages now. */
export const DESTINATION_DISABLED: DeadLetterReason = {
  reason: 'ForwardingDestinationDisabled',
  description: 'The message could not be forwarded: its destination is disabled.',
}

/** SET-13. */
export const DESTINATION_FULL: DeadLetterReason = {
  reason: 'ForwardingDestinationFull',
  description: 'The message could not be forwarded: its destination has reached its maximum size.',
}

/** SET-13: it is larger than the largest message of the destination. */
export const DESTINATION_TOO_SMALL: DeadLetterReason = {
  reason: 'MessageSizeExceeded',
  description: 'The message could not be forwarded: it is larger than its destination takes.',
}
