import type { StoredMessage } from '@tidemark/messaging/front'
import { encodeDelivery } from '../messages/encode-delivery.ts'
import { APPLICATION_PROPERTIES, sectionAt } from '../messages/sections.ts'
import { endOfValue } from '../values/scan-values.ts'
import type { ManagementCall } from './management-call.ts'
import { readableMessages } from './readable-messages.ts'
import { binary } from './wire-values.ts'

/** Clients ask again, from the next number on. */
const MAX_MESSAGES = 1_000
const MAX_ANSWER_BYTES = 1024 * 1024
const EMPTY_DATA = Buffer.from('005375a000', 'hex')

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
  const omitsBody = fields.flag('omit-message-body')
  const encode = (message: StoredMessage): object => {
    const encoded = encodeDelivery(message, undefined)
    return { message: binary(omitsBody ? withoutBody(encoded) : encoded) }
  }
  return {
    messages: readableMessages(messages, encode, (error) => context.reportFailure(error)),
  }
}

/** What stands before the body of an encoded message, and a body of no bytes: a message must have one. */
function withoutBody(encoded: Buffer): Buffer {
  const end = encoded.length
  let at = 0
  while (at < end) {
    const { code, valueAt } = sectionAt(encoded, at, end)
    if (code > APPLICATION_PROPERTIES) break
    at = endOfValue(encoded, valueAt, end)
  }
  return Buffer.concat([encoded.subarray(0, at), EMPTY_DATA])
}
