import { CodedError } from '@tidemark/contracts'

/**
 * The session's lock has ended, and with it the locks of the session's messages. Nothing was changed by this call.
 *
 * @remedy Accept the session again. If handling takes longer than the lock, renew the session's lock.
 */
export class SessionLockLostError extends CodedError {
  override readonly name = 'SessionLockLostError'
  readonly code = 'ERR_SESSION_LOCK_LOST'
  readonly retryable = false
  readonly sessionId: string | undefined

  constructor(sessionId: string | undefined, options?: ErrorOptions) {
    const which = sessionId === undefined ? 'the session' : `the session '${sessionId}'`
    super(`The lock of ${which} has expired. Accept the session again.`, options)
    this.sessionId = sessionId
  }
}

/**
 * Another receiver holds the session.
 *
 * @remedy Wait until that receiver is closed, or accept the next free session.
 */
export class SessionCannotBeLockedError extends CodedError {
  override readonly name = 'SessionCannotBeLockedError'
  readonly code = 'ERR_SESSION_CANNOT_BE_LOCKED'
  readonly retryable = false
  readonly sessionId: string

  constructor(sessionId: string, options?: ErrorOptions) {
    super(
      `The requested session '${sessionId}' cannot be accepted. Another receiver has locked it.`,
      options,
    )
    this.sessionId = sessionId
  }
}
