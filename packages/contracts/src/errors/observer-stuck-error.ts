import { CodedError } from './coded-error.ts'

/**
 * A call of your observer did not return within `maxBatchMs`.
 *
 * @remedy Give every wait in the observer a limit and pass the context's `signal` on. Raise `maxBatchMs` if such a
 * batch may take that long.
 */
export class ObserverStuckError extends CodedError {
  override readonly name = 'ObserverStuckError'
  readonly code = 'ERR_OBSERVER_STUCK'
  readonly retryable = true
}
