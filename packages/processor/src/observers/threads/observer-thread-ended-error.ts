import { CodedError } from '@tidemark/contracts'

/**
 * An observer's thread ended while it was called: it called `process.exit()`, it did not catch an error (see `cause`),
 * it exceeded its memory limit, or its call was given up and blocked the thread. The next attempt gets a new thread.
 *
 * @remedy Correct the cause. The batch is retried automatically.
 */
export class ObserverThreadEndedError extends CodedError {
  override readonly name = 'ObserverThreadEndedError'
  readonly code = 'ERR_OBSERVER_THREAD_ENDED'
  readonly retryable = true
}
