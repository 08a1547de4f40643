import { LOCK_DIGITS, type ReceiveMode, type SessionHold } from '@tidemark/store/messages'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import { earliest } from './next-instants.ts'
import { receivedMessage, type Received } from './received.ts'
import { WaitingQueue, type Pending } from './waiting-queue.ts'

export interface ReceiveRequest {
  readonly mode: ReceiveMode
  readonly max: number
  /** False: resolves at once, also with nothing (SET-21). */
  readonly waits: boolean
}

/** What gives a receiver its messages: the queue of the entity or of its session, or what was received ahead. */
export interface Intake {
  ask(request: ReceiveRequest): Pending<Received>
}

export type ReceiveQueue = WaitingQueue<ReceiveRequest, Received>

/** The most bytes that one receive brings, unless its first message alone is larger. */
const MAX_RECEIVE_BYTES = 8 * 1024 * 1024

/** Those who wait for messages of an entity, or of a session that is held. */
export function receiveQueue(
  context: BrokerContext,
  commands: EntityCommands,
  {
    hold,
    onLocked,
    onEmpty,
  }: {
    readonly hold: SessionHold | undefined
    /** A message lock was given that ends then, by the lock clock. */
    readonly onLocked: (lockedUntilMs: number) => void
    readonly onEmpty: () => void
  },
): ReceiveQueue {
  return new WaitingQueue(async (requests) => {
    const { answer, time } = await commands.perform('receive', {
      hold,
      requests: requests.map(({ mode, max }) => ({
        mode,
        max,
        maxBytes: MAX_RECEIVE_BYTES,
        lock: context.random.hex(LOCK_DIGITS / 2),
      })),
    })
    const soonestMs = earliest(answer.deliveries.flat().map(({ lockedUntilMs }) => lockedUntilMs))
    if (soonestMs !== undefined) onLocked(soonestMs)
    return answer.deliveries.map((deliveries) =>
      deliveries.map((delivery) => receivedMessage(delivery, time, context.clock)),
    )
  }, onEmpty)
}
