import { eventLoopTurn } from '@tidemark/contracts/internal'
import {
  CopyBudget,
  type EntityRecord,
  type MessageCopy,
  type NewMessage,
} from '@tidemark/store/messages'
import { judgeRules, type JudgedMessage } from '../rules/judge-rules.ts'
import type { ParsedRules } from '../rules/parsed-rules.ts'
import { MAX_STEPS } from '../rules/work-budget.ts'
import type { EntityDirectory } from './entity-directory.ts'

/** What judging rules needs of the broker. */
export interface FanOutContext {
  readonly directory: EntityDirectory
  readonly rules: ParsedRules
}

/** Steps of rules after which other work of the process has its turn: about ten milliseconds. */
const STEPS_PER_TURN = MAX_STEPS

/** Where the rules of a topic's subscriptions put a message that arrives there now (TOP-01). No copies of one that arrives in a queue. */
export function judgeArrival(
  { directory, rules }: FanOutContext,
  record: EntityRecord,
): (message: JudgedMessage) => Promise<readonly MessageCopy[]> {
  if (record.kind !== 'topic') return () => Promise.resolve([])
  const subscriptions = directory.subscriptionsOf(record)
  let spent = 0
  return async (message) => {
    const { copies, steps } = judgeRules(subscriptions, message, rules)
    spent += steps
    if (spent >= STEPS_PER_TURN) {
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
    if (!budget.takes(messagesOf(judged, item)) && piece.length > 0) break
    piece.push(judged)
  }
  return piece
}
