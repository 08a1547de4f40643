import { InvalidOptionError, type Random } from '@tidemark/contracts'
import type { NewMessage } from '@tidemark/messaging/front'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { uint32At } from '../values/scan-values.ts'
import { BINARY_8 } from '../values/type-codes.ts'
import { decodeMessage } from './decode-message.ts'
import { DATA, readSections } from './sections.ts'

/** AMQP's own message format. */
export const PLAIN_FORMAT = 0
/** Several messages in one: the body has a data section for each, which is a whole encoded message. */
export const BATCH_FORMAT = 0x80013700

/** All of them go into one transaction. A batch of 1 MiB of the smallest messages that clients write has fewer. */
const MAX_BATCH = 20_000

/**
 * The messages of one transfer, as the broker stores them. Of a batch, only the messages in it count: what stands around
 * them repeats the first.
 *
 * @throws ERR_MALFORMED_MESSAGE, ERR_INVALID_OPTION
 */
export function decodeTransfer(
  transfer: { readonly format: number; readonly bytes: Uint8Array },
  random: Random,
): readonly NewMessage[] {
  const { buffer, byteOffset, byteLength } = transfer.bytes
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  if (transfer.format === PLAIN_FORMAT) {
    return [decodeMessage(bytes, { start: 0, end: bytes.length }, random)]
  }
  if (transfer.format !== BATCH_FORMAT) {
    throw new MalformedMessageError(`there is no message format 0x${transfer.format.toString(16)}`)
  }
  const { bodyCode, bodyValues } = readSections(bytes, 0, bytes.length)
  if (bodyCode !== DATA) throw new MalformedMessageError('a batch has no messages')
  if (bodyValues.length > MAX_BATCH) {
    throw new InvalidOptionError(
      `a batch has at most ${MAX_BATCH} messages, got ${bodyValues.length}`,
    )
  }
  return bodyValues.map((valueAt) => decodeMessage(bytes, binaryPlace(bytes, valueAt), random))
}

function binaryPlace(bytes: Buffer, at: number): { readonly start: number; readonly end: number } {
  const isShort = bytes[at] === BINARY_8
  const start = at + (isShort ? 2 : 5)
  return { start, end: start + (isShort ? bytes[at + 1]! : uint32At(bytes, at + 1)) }
}
