import { errorCode } from '@tidemark/contracts'
import type { DeadLetterReason } from '@tidemark/store/messages'
import { isRefused } from '../errors/is-retryable.ts'

/**
 * Moves a piece of messages with one command. If the store refuses it for good, each message goes alone, so that one which
 * cannot be stored stops no other: `buried` makes of its order one that goes to a dead-letter queue. Answers of the kind
 * `moved` are joined; any other one ends it.
 */
export async function moveWithPoison<Order, Answer extends { readonly kind: string }>(
  orders: readonly Order[],
  parts: {
    readonly move: (orders: readonly Order[]) => Promise<Answer>
    readonly isMoved: (answer: Answer) => boolean
    readonly join: (one: Answer, other: Answer) => Answer
    readonly buried: (order: Order, reason: DeadLetterReason) => Order
  },
): Promise<Answer> {
  try {
    return await parts.move(orders)
  } catch (error) {
    const [order] = orders
    if (!isRefused(error) || order === undefined) throw error
    if (orders.length === 1) return parts.move([parts.buried(order, notStored(error))])
  }
  let all: Answer | undefined
  for (const order of orders) {
    const answer = await moveWithPoison([order], parts)
    if (!parts.isMoved(answer)) return answer
    all = all === undefined ? answer : parts.join(all, answer)
  }
  return all!
}

function notStored(error: unknown): DeadLetterReason {
  return {
    reason: 'MessageNotStored',
    description: `The message could not be stored at its destination: ${errorCode(error) ?? String(error)}.`,
  }
}
