import {
  CopyBudget,
  type EntityRecord,
  type MessageCopy,
  type NewMessage,
} from '@tidemark/store/messages'
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

/** The first of these items that one transaction takes, judged; at least one. `messagesOf`: those of a judged one. */
export function judgePiece<Item, Judged>(
  items: readonly Item[],
  judge: (item: Item) => Judged,
  messagesOf: (judged: Judged, item: Item) => readonly Pick<NewMessage, 'bytes' | 'copies'>[],
): readonly Judged[] {
  const budget = new CopyBudget()
  const piece: Judged[] = []
  for (const item of items) {
    const judged = judge(item)
    if (!budget.takes(messagesOf(judged, item)) && piece.length > 0) break
    piece.push(judged)
  }
  return piece
}
