import { CodedError } from '@tidemark/contracts'

/**
 * The thread of an observer ended while it was called: `process.exit()`, an error that nobody caught (then `cause`),
 * memory above its limit, or a call that was given up and blocked it. The next try has a new thread.
 */
export class ObserverThreadEndedError extends CodedError {
  override readonly name = 'ObserverThreadEndedError'
  readonly code = 'ERR_OBSERVER_THREAD_ENDED'
  readonly retryable = true
}
