import { errorCode } from '@tidemark/contracts'

/** Whether the same call may succeed later, as a coded error of any copy of this package says. */
export function isRetryable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  return 'retryable' in error && error.retryable === true
}

/** Whether the store or the broker refused a call, and will again: nothing of it was done. */
export function isRefused(error: unknown): boolean {
  return errorCode(error) !== undefined && !isRetryable(error)
}
