import type { ManagementCall } from './management-call.ts'
import { useLink } from './use-link.ts'
import { int } from './wire-values.ts'

/** Of one request, as in the service's tier Premium. Clients ask again. */
const MAX_MESSAGES = 4_000

/** Removes messages that nobody holds, the oldest first. */
export async function deleteMessages(call: ManagementCall): Promise<object | undefined> {
  const { fields } = call
  const max = fields.number('message-count', { min: 1, max: MAX_MESSAGES })
  const before = fields.optionalTime('enqueued-time-utc')
  const count = await useLink(call, 'receiveAndDelete', (link) => link.discard(max, before))
  return count === 0 ? undefined : { 'message-count': int(count) }
}
