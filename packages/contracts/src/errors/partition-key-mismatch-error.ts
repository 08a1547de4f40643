import { CodedError } from './coded-error.ts'

/**
 * The partition key value given with an operation differs from the one inside the document.
 *
 * @remedy Leave the value out, or give the one that the document has.
 */
export class PartitionKeyMismatchError extends CodedError {
  override readonly name = 'PartitionKeyMismatchError'
  readonly code = 'ERR_PARTITION_KEY_MISMATCH'
  readonly retryable = false
}
