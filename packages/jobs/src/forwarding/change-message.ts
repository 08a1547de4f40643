import { type Change, type DocumentBody } from '@tidemark/contracts'
import { assertNever, changeKeyText } from '@tidemark/contracts/internal'
import { isSessionId, type Message } from '@tidemark/messaging'
import { changeId, changeKind, type FeedOfChanges } from '../workers/change-identity.ts'
import { sha256 } from '../workers/platform/sha256.ts'

/**
 * What a change becomes: one message, several, or none. What a message gives itself is sent as it is; what it leaves out is
 * filled in, as for the message that a change becomes without a map. Called again for a change that comes again: the
 * same number of messages in the same order keeps their ids.
 */
export type MapChange<T extends DocumentBody> = (
  change: Change<T>,
) => Message | readonly Message[] | undefined

/**
 * The messages of a change. Their `messageId` follows from (feed, epoch, partition key, id, LSN, kind), so that an entity with
 * duplicate detection knows a change that is forwarded again.
 */
export function messagesOf<T extends DocumentBody>(
  feed: FeedOfChanges,
  change: Change<T>,
  map: MapChange<T> = (mapped) => ({ body: bodyOf(mapped) }),
): readonly Message[] {
  const mapped = map(change)
  if (mapped === undefined) return []
  const keyText = changeKeyText(change)
  const messageId = changeId(feed, change)
  const kind = changeKind(change)
  const session = sessionOf(change, keyText)
  return (isList(mapped) ? mapped : [mapped]).map((message, index) => {
    const sessionId = message.sessionId ?? message.partitionKey ?? session
    return {
      ...message,
      messageId: message.messageId ?? (index === 0 ? messageId : `${messageId}-${index}`),
      subject: message.subject ?? kind,
      sessionId,
      partitionKey: message.partitionKey ?? sessionId,
      applicationProperties: {
        collection: feed.description,
        kind,
        lsn: change.lsn,
        id: change.id,
        ...message.applicationProperties,
      },
    }
  })
}

/** A delete has its previous version, if the collection keeps those. */
function bodyOf(change: Change): unknown {
  switch (change.kind) {
    case 'document':
      return change.document
    case 'pendingDelete':
      return change.lastVersion
    case 'version':
      return change.current ?? change.previous
    default:
      return assertNever(change)
  }
}

/** A key that is one text stands as it is, any other one as its canonical text; what no session's id can be, as a hash. */
function sessionOf({ partitionKey }: Change, keyText: string): string {
  const isText = typeof partitionKey === 'string' && partitionKey !== ''
  const session = isText ? partitionKey : keyText
  return isSessionId(session) ? session : sha256(keyText)
}

function isList(mapped: Message | readonly Message[]): mapped is readonly Message[] {
  return Array.isArray(mapped)
}
