import { CodedError } from './coded-error.ts'

/** A call of an observer did not return within `maxBatchMs`. */
export class ObserverStuckError extends CodedError {
  override readonly name = 'ObserverStuckError'
  readonly code = 'ERR_OBSERVER_STUCK'
  readonly retryable = true
}
