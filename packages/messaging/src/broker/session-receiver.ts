import { utcDate } from '../platform/utc-date.ts'
import type { HeldSession } from './held-session.ts'
import { MessageReceiver, type MessageReceiverParts } from './message-receiver.ts'

/** Holds a session. Closing it releases the session at once (SES-11). */
export class SessionReceiver<Body = unknown> extends MessageReceiver<Body> {
  readonly #held: HeldSession

  /** Made by the broker. */
  constructor(parts: MessageReceiverParts, held: HeldSession) {
    super(parts)
    this.#held = held
  }

  get sessionId(): string {
    return this.#held.sessionId
  }

  /** Later after each renewal. */
  get sessionLockedUntilUtc(): Date {
    return utcDate(this.#held.lockedUntilUtcMs)
  }

  /** Resolves with the new end of the lock. */
  async renewSessionLock(): Promise<Date> {
    const { untilUtcMs } = await this.#held.renew()
    return utcDate(untilUtcMs)
  }

  getSessionState(): Promise<Uint8Array | undefined> {
    return this.#held.readState()
  }

  /** Undefined clears it, and so do no bytes. */
  setSessionState(state: Uint8Array | undefined): Promise<void> {
    return this.#held.setState(state)
  }
}
