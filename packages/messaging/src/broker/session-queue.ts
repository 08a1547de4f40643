import { LOCK_DIGITS } from '@tidemark/store/messages'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import { lockEnd, type LockEnd } from './received.ts'
import { WaitingQueue } from './waiting-queue.ts'

/** A session that this broker was granted. */
export interface GrantedSession {
  readonly session: string
  /** The fence of this hold. */
  readonly lock: string
  readonly end: LockEnd
}

interface AcceptRequest {
  readonly waits: boolean
}

export type SessionQueue = WaitingQueue<AcceptRequest, GrantedSession>

/** The most attempts at the same time. */
const MAX_ATTEMPTS = 16

/** Where the broker looks for the next session of an entity: after the one that it was granted last, so that all get a turn. */
export interface SessionTurn {
  last: string
}

/** Those who wait for some session of an entity. */
export function sessionQueue(
  context: BrokerContext,
  commands: EntityCommands,
  { turn, onEmpty }: { readonly turn: SessionTurn; readonly onEmpty: () => void },
): SessionQueue {
  const acceptNext = async (): Promise<readonly GrantedSession[]> => {
    const lock = context.random.hex(LOCK_DIGITS / 2)
    const { answer, time } = await commands.perform('acceptSession', {
      lock,
      session: { after: turn.last },
    })
    if (answer.kind !== 'accepted') return []
    turn.last = answer.session
    const end = lockEnd(answer.lockedUntilMs, time, context.clock)
    return [{ session: answer.session, lock, end }]
  }
  return new WaitingQueue(async (requests) => {
    const granted: GrantedSession[] = []
    // One asks first: when it finds nothing, the others need not try.
    for (let size = 1; granted.length < requests.length; size = Math.min(size * 2, MAX_ATTEMPTS)) {
      const attempts = Math.min(size, requests.length - granted.length)
      const answers = await Promise.allSettled(Array.from({ length: attempts }, acceptNext))
      const failed = answers.find(({ status }) => status === 'rejected')
      const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
      granted.push(...found)
      // What was granted beside a failure is not lost.
      if (failed?.status === 'rejected' && granted.length === 0) throw failed.reason
      if (found.length < attempts) break
    }
    return requests.map((_, place) => granted.slice(place, place + 1))
  }, onEmpty)
}
