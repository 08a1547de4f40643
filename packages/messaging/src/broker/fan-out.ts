import type { Random } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import {
  CopyBudget,
  type EntityRecord,
  type MessageCopy,
  type NewMessage,
} from '@tidemark/store/messages'
import { RuleJudge, type JudgedMessage } from '../rules/judge-rules.ts'
import type { ParsedRules } from '../rules/parsed-rules.ts'
import { MAX_STEPS } from '../rules/work-budget.ts'
import type { EntityDirectory } from './entity-directory.ts'

/** What judging rules needs of the broker. */
export interface FanOutContext {
  readonly directory: EntityDirectory
  readonly rules: ParsedRules
  /** For the UUIDs that a rule makes. */
  readonly random: Random
}

/** Steps of rules after which other work of the process has its turn: a few milliseconds. */
const STEPS_PER_TURN = MAX_STEPS / 4

/**
 * Where the rules of a topic's subscriptions put a message that arrives there now (TOP-01). No copies of one that arrives in a queue.
 * `messages` are stored together with it, all or none.
 */
export function judgeArrival(
  { directory, rules, random }: FanOutContext,
  record: EntityRecord,
): (message: JudgedMessage, messages?: number) => Promise<readonly MessageCopy[]> {
  if (record.kind !== 'topic') return () => Promise.resolve([])
  const subscriptions = directory.subscriptionsOf(record)
  let spent = 0
  return async (message, messages = 1) => {
    const together = { subscriptions: subscriptions.length, messages, random }
    const judge = new RuleJudge(message, rules, together)
    const copies: MessageCopy[] = []
    for (const subscription of subscriptions) {
      const before = judge.steps
      copies.push(...judge.copiesFor(subscription))
      spent += judge.steps - before
      if (spent < STEPS_PER_TURN) continue
      spent = 0
      await eventLoopTurn()
    }
    return copies
  }
}

/** The first of these items that one transaction takes, judged; at least one. `messagesOf`: those of a judged one. */
export async function judgePiece<Item, Judged>(
  items: readonly Item[],
  judge: (item: Item) => Promise<Judged>,
  messagesOf: (judged: Judged, item: Item) => readonly Pick<NewMessage, 'bytes' | 'copies'>[],
): Promise<readonly Judged[]> {
  const budget = new CopyBudget()
  const piece: Judged[] = []
  for (const item of items) {
    const judged = await judge(item)
    const isTaken = budget.takes(messagesOf(judged, item)) && !budget.isFull
    if (!isTaken && piece.length > 0) break
    piece.push(judged)
  }
  return piece
}
