import type { EntityRecord, MessageCopy, NewMessage } from '@tidemark/store/messages'

/** Where the rules of a topic's subscriptions put a message. */
export function copiesFor(
  message: NewMessage,
  subscriptions: readonly EntityRecord[],
): readonly MessageCopy[] {
  return subscriptions.flatMap(({ number, rules }) => {
    const matches = rules.some(({ filter }) => filter.kind === 'true')
    if (!matches) return []
    return [
      {
        subscription: number,
        changes: undefined,
        session: message.session,
        deadLetter: undefined,
      },
    ]
  })
}
