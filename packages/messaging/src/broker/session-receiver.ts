import { MessageReceiver } from './message-receiver.ts'

/** Holds a session. Closing it releases the session at once (SES-11). */
export declare class SessionReceiver<Body = unknown> extends MessageReceiver<Body> {
  readonly sessionId: string
  readonly sessionLockedUntilUtc: Date
  /** Resolves with the new end of the lock. */
  renewSessionLock(): Promise<Date>
  getSessionState(): Promise<Uint8Array | undefined>
  /** Undefined clears it. */
  setSessionState(state: Uint8Array | undefined): Promise<void>
}
