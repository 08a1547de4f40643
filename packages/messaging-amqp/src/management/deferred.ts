import type { Received } from '@tidemark/messaging/front'
import { encodeDelivery } from '../messages/encode-delivery.ts'
import type { ManagementCall } from './management-call.ts'
import { readableMessages } from './readable-messages.ts'
import { useLink } from './use-link.ts'
import { binary, uuid } from './wire-values.ts'

/** The answer is one message, and all of it stands in memory. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** All or none, in the order of the numbers. A damaged one comes again when its lock has ended, and is dead-lettered in the end. */
export async function receiveBySequenceNumber(call: ManagementCall): Promise<object> {
  const { fields, context } = call
  const numbers = fields.sequenceNumbers('sequence-numbers')
  const settles = fields.number('receiver-settle-mode', { min: 0, max: 1 })
  const mode = settles === 0 ? 'receiveAndDelete' : 'peekLock'
  const received = await useLink(call, mode, (link) =>
    link.receiveDeferred(numbers, { mode, maxBytes: MAX_ANSWER_BYTES }),
  )
  const encode = ({ message, lock }: Received): object => ({
    ...(lock === undefined ? {} : { 'lock-token': uuid(lock.token) }),
    message: binary(encodeDelivery(message, lock)),
  })
  return {
    messages: readableMessages(received, encode, (error) => context.reportFailure(error)),
  }
}
