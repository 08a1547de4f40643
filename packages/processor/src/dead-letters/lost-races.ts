import { errorCode } from '@tidemark/contracts'

/** Whether a conditional write found another version, or another document, than the one that was read. */
export function isOvertaken(error: unknown): boolean {
  switch (errorCode(error)) {
    case 'ERR_PRECONDITION_FAILED':
    case 'ERR_EXISTS':
      return true
    default:
      return isGone(error)
  }
}

/** Whether the document is not there, while its collection is. */
export function isGone(error: unknown): boolean {
  return (
    errorCode(error) === 'ERR_NOT_FOUND' &&
    typeof error === 'object' &&
    error !== null &&
    Reflect.get(error, 'resource') === 'document'
  )
}
