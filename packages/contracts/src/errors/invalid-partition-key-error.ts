import { CodedError } from './coded-error.ts'

/** A partition key value or definition is malformed: wrong number of components, or a value that no key can have. */
export class InvalidPartitionKeyError extends CodedError {
  override readonly name = 'InvalidPartitionKeyError'
  readonly code = 'ERR_INVALID_PARTITION_KEY'
  readonly retryable = false
}
