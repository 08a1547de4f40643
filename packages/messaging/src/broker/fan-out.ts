import type { EntityRecord, MessageCopy } from '@tidemark/store/messages'
import { judgeRules, type JudgedMessage } from '../rules/judge-rules.ts'
import type { ParsedRules } from '../rules/parsed-rules.ts'

/** Where the rules of a topic's subscriptions put a message (TOP-01). */
export function copiesFor(
  message: JudgedMessage,
  subscriptions: readonly EntityRecord[],
  parsed: ParsedRules,
): readonly MessageCopy[] {
  return subscriptions.flatMap((subscription) => judgeRules(subscription, message, parsed))
}
