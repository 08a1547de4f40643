import type { ReceiveMode, ReceiverLink } from '@tidemark/messaging/front'
import type { ManagementCall } from './management-call.ts'

/**
 * Uses the link that holds the session of the request's `session-id`, or one of its own for messages without a session.
 * Rejects with ERR_SESSION_LOCK_LOST.
 */
export async function useLink<Result>(
  { fields, linkName, context }: ManagementCall,
  mode: ReceiveMode,
  use: (link: ReceiverLink) => Promise<Result>,
): Promise<Result> {
  const session = fields.optionalText('session-id')
  if (session !== undefined) return use(context.heldSession(session, linkName).link)
  const link = context.front.openLink(context.path, mode)
  try {
    return await use(link)
  } finally {
    await link.close()
  }
}
