import { CodedError } from '@tidemark/contracts'

/**
 * An observer's thread ended while it was called: it called `process.exit()`, nobody caught an error (then `cause` has
 * it), its memory was above the limit, or its call was given up and blocked the thread. The next try has a new thread.
 *
 * @remedy Mend what ended the thread. The batch is tried again by itself.
 */
export class ObserverThreadEndedError extends CodedError {
  override readonly name = 'ObserverThreadEndedError'
  readonly code = 'ERR_OBSERVER_THREAD_ENDED'
  readonly retryable = true
}
