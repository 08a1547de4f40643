import rhea from 'rhea'
import { systemRandom } from '@tidemark/contracts'
import {
  ACTIVE,
  type MessageHead,
  type NewMessage,
  type StoredMessage,
} from '@tidemark/messaging/front'
import { BATCH_FORMAT, decodeTransfer, PLAIN_FORMAT } from './decode-transfer.ts'

export const NOW_MS = Date.UTC(2026, 0, 1)

/** As rhea encodes it. */
export function rheaBytes(message: object): Buffer {
  return rhea.message.encode(message as rhea.Message)
}

/** As rhea decodes it: what clients see. */
export function rheaMessage(bytes: Buffer): rhea.Message {
  return rhea.message.decode(bytes) as unknown as rhea.Message
}

/** One message of a plain transfer. */
export function decoded(bytes: Uint8Array): NewMessage {
  const [message] = decodeTransfer({ format: PLAIN_FORMAT, bytes }, systemRandom)
  return message!
}

export function batchOf(bytes: Uint8Array): readonly NewMessage[] {
  return decodeTransfer({ format: BATCH_FORMAT, bytes }, systemRandom)
}

export function headIn({ head }: Pick<NewMessage, 'head'>): MessageHead {
  return JSON.parse(head) as MessageHead
}

/** As an engine keeps it, under number 7. */
export function storedMessage(
  { head, body, bytes, session, ttlMs }: NewMessage,
  row: Partial<StoredMessage> = {},
): StoredMessage {
  return {
    id: 1,
    entity: 1,
    number: 7,
    state: ACTIVE,
    session,
    enqueuedMs: NOW_MS,
    ttlMs,
    expiresMs: ttlMs === undefined ? undefined : NOW_MS + ttlMs,
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    firstNumber: 5,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes,
    head,
    body,
    ...row,
  }
}
