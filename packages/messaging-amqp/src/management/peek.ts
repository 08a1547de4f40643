import type { StoredMessage } from '@tidemark/messaging/front'
import { encodeDelivery } from '../messages/encode-delivery.ts'
import type { ManagementCall } from './management-call.ts'
import { binary } from './wire-values.ts'

/** Clients ask again, from the next number on. */
const MAX_MESSAGES = 1_000
const MAX_ANSWER_BYTES = 1024 * 1024

/** Nobody needs to hold the session. Also shows the scheduled messages of a topic, as clients for topics could. */
export async function peekMessages({
  fields,
  context,
}: ManagementCall): Promise<object | undefined> {
  const messages = await context.front.peek(context.path, {
    session: fields.optionalText('session-id'),
    fromNumber: fields.number('from-sequence-number', { min: 0, max: Number.MAX_SAFE_INTEGER }),
    max: fields.number('message-count', { min: 1, max: MAX_MESSAGES }),
    maxBytes: MAX_ANSWER_BYTES,
  })
  if (messages.length === 0) return undefined
  const shown = fields.flag('omit-message-body') ? messages.map(withoutBody) : messages
  return {
    messages: shown.map((message) => ({ message: binary(encodeDelivery(message, undefined)) })),
  }
}

/** Its section of data is empty, or it has none. */
function withoutBody(message: StoredMessage): StoredMessage {
  return { ...message, body: new Uint8Array() }
}
