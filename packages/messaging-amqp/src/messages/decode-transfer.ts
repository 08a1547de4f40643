import type { Random } from '@tidemark/contracts'
import type { NewMessage } from '@tidemark/messaging/front'

/** AMQP's own message format. */
export const PLAIN_FORMAT = 0
/** Several messages in one: the body has a data section for each, which is a whole encoded message. */
export const BATCH_FORMAT = 0x80013700

/**
 * The messages of one transfer, as the broker stores them.
 *
 * @throws ERR_MALFORMED_MESSAGE, ERR_INVALID_OPTION
 */
export function decodeTransfer(
  _transfer: { readonly format: number; readonly bytes: Uint8Array },
  _random: Random,
): readonly NewMessage[] {
  throw new Error('not written yet')
}
