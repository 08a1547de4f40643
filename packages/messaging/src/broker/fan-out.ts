import type { EntityRecord, MessageCopy } from '@tidemark/store/messages'
import { judgeRules, type JudgedMessage } from '../rules/judge-rules.ts'
import type { ParsedRules } from '../rules/parsed-rules.ts'
import type { EntityDirectory } from './entity-directory.ts'

/** What judging rules needs of the broker. */
export interface FanOutContext {
  readonly directory: EntityDirectory
  readonly rules: ParsedRules
}

/** Where the rules of a topic's subscriptions put a message that arrives there now (TOP-01). No copies of one that arrives in a queue. */
export function judgeArrival(
  { directory, rules }: FanOutContext,
  record: EntityRecord,
): (message: JudgedMessage) => readonly MessageCopy[] {
  if (record.kind !== 'topic') return () => []
  const subscriptions = directory.subscriptionsOf(record)
  return (message) =>
    subscriptions.flatMap((subscription) => judgeRules(subscription, message, rules))
}
