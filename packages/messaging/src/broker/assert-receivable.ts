import type { EntityRecord } from '@tidemark/store/messages'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'

/** Nobody receives from a topic, or from an entity that forwards (SET-13). @throws ERR_MESSAGING_NOT_ALLOWED */
export function assertReceivable({ kind, path, settings: { forwardTo } }: EntityRecord): void {
  if (kind === 'topic') {
    throw new MessagingNotAllowedError(
      `nobody receives from the topic '${path}': receive from one of its subscriptions`,
    )
  }
  if (kind === 'deadLetter' || forwardTo === undefined) return
  throw new MessagingNotAllowedError(
    `'${path}' forwards to '${forwardTo}': nobody can receive from it`,
  )
}
