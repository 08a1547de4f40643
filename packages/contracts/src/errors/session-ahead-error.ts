import { CodedError } from './coded-error.ts'

/**
 * The session token names a state that the store has not reached, even after waiting for it.
 *
 * @remedy Try again. If it stays so, the token comes from another copy of the store: drop it.
 */
export class SessionAheadError extends CodedError {
  override readonly name = 'SessionAheadError'
  readonly code = 'ERR_SESSION_AHEAD'
  readonly retryable = true
}
