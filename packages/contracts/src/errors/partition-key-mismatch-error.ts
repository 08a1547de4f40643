import { CodedError } from './coded-error.ts'

/** The partition key value given with an operation differs from the one inside the document. */
export class PartitionKeyMismatchError extends CodedError {
  override readonly name = 'PartitionKeyMismatchError'
  readonly code = 'ERR_PARTITION_KEY_MISMATCH'
  readonly retryable = false
}
