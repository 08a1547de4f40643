import type { StoredMessage } from '@tidemark/messaging/front'

/** A stored message as a client gets it: a whole encoded message with the effective times. `lock` of a locked one. */
export function encodeDelivery(
  _message: StoredMessage,
  _lock: { readonly untilUtcMs: number } | undefined,
): Buffer {
  throw new Error('not written yet')
}
