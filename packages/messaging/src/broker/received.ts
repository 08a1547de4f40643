import type { Clock } from '@tidemark/contracts'
import {
  lockToken,
  type Delivery,
  type MessageTime,
  type StoredMessage,
} from '@tidemark/store/messages'

/** The end of a lock, as its holder needs it. */
export interface LockEnd {
  /** By the store's clock, epoch ms. */
  readonly untilUtcMs: number
  /** By the monotonic clock of this broker. */
  readonly endsAtMs: number
}

/** A message that this broker was given. */
export interface Received {
  readonly message: StoredMessage
  /** Undefined in receive-and-delete. */
  readonly lock: (LockEnd & { readonly token: string }) | undefined
}

/** The end of a lock, which the store tells by the lock clock. `time` is that of the answer. */
export function lockEnd(lockedUntilMs: number, time: MessageTime, clock: Clock): LockEnd {
  const leftMs = lockedUntilMs - time.lockMs
  return { untilUtcMs: time.storeMs + leftMs, endsAtMs: clock.monotonicMs() + leftMs }
}

export function receivedMessage(
  { message, lockedUntilMs }: Delivery,
  time: MessageTime,
  clock: Clock,
): Received {
  if (message.lock === undefined || lockedUntilMs === undefined) return { message, lock: undefined }
  const token = lockToken(message.id, message.lock)
  return { message, lock: { token, ...lockEnd(lockedUntilMs, time, clock) } }
}
