import { StoreDamagedError } from '@tidemark/contracts'
import type { EntityRecord } from '../entities.ts'
import type { DeadLetterReason, MessageCopy } from '../message-commands.ts'
import type { NewMessageRow, Procedure } from '../message-rows.ts'
import { SESSION_ID_IS_NULL } from '../rules/dead-letter-reasons.ts'
import { arrivedRow, deadLettered, type Passage } from '../rules/enqueued-rows.ts'
import type { Work } from './work.ts'

/**
 * Holds the counters that copies need: those of subscriptions, and of the dead-letter queues of some. False when a
 * subscription is not the topic's any more: then the rules that were judged are not the topic's either.
 */
export function* holdSubscriptions(
  work: Work,
  topic: EntityRecord,
  copies: readonly MessageCopy[],
): Procedure<boolean> {
  const subscriptions = new Set(copies.map(({ subscription }) => subscription))
  const failed = copies.filter(({ deadLetter }) => deadLetter !== undefined)
  yield* work.hold([...subscriptions, ...(yield* deadLetterQueues(work, failed))])
  for (const subscription of subscriptions) {
    if (work.held(subscription)?.parent !== topic.number) return false
  }
  const dying = copies.filter((copy) => reasonOf(work.held(copy.subscription), copy) !== undefined)
  yield* work.hold(yield* deadLetterQueues(work, dying))
  return true
}

/** The copies' rows. Each subscription and dead-letter queue gives its own numbers (TOP-01). Disabled ones get theirs, too. */
export function* copiesOf(
  work: Work,
  passage: Passage,
  copies: readonly MessageCopy[],
): Procedure<readonly NewMessageRow[]> {
  const rows: NewMessageRow[] = []
  for (const copy of copies) {
    const subscription = work.held(copy.subscription)
    if (subscription === undefined) continue
    const reason = reasonOf(subscription, copy)
    const destination =
      reason === undefined
        ? subscription
        : work.held((yield* work.deadLetterQueueOf(subscription.number)) ?? 0)
    if (destination === undefined) {
      throw new StoreDamagedError(
        `the subscription '${subscription.path}' has no dead-letter queue`,
      )
    }
    const number = work.nextNumber(destination.number)
    const arrived = arrivedRow(passage, subscription, { ...copy, number })
    const row =
      reason === undefined
        ? arrived
        : deadLettered(arrived, reason, {
            deadLetterQueue: destination.number,
            number,
            storeMs: work.time.storeMs,
          })
    rows.push(row)
    work.addBytes(destination, row.bytes)
    work.touches(destination.number)
  }
  return rows
}

/** A filter failed (TOP-08), or the copy has no session and needs one. */
function reasonOf(
  subscription: EntityRecord | undefined,
  { deadLetter, session }: MessageCopy,
): DeadLetterReason | undefined {
  if (deadLetter !== undefined) return deadLetter
  return subscription?.settings.requiresSession === true && session === undefined
    ? SESSION_ID_IS_NULL
    : undefined
}

function* deadLetterQueues(
  work: Work,
  copies: readonly MessageCopy[],
): Procedure<readonly number[]> {
  const queues: number[] = []
  for (const subscription of new Set(copies.map((copy) => copy.subscription))) {
    const queue = yield* work.deadLetterQueueOf(subscription)
    if (queue !== undefined) queues.push(queue)
  }
  return queues
}
