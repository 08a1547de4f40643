import { CodedError } from '@tidemark/contracts'

/** The session token names a state that the store has not reached, also after waiting for it (CF-15). */
export class SessionAheadError extends CodedError {
  override readonly name = 'SessionAheadError'
  readonly code = 'ERR_SESSION_AHEAD'
  readonly retryable = true
}
