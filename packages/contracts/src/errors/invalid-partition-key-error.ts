import { CodedError } from './coded-error.ts'

/**
 * A partition key value or definition is malformed: it has the wrong number of components, or a value that no key can
 * have.
 *
 * @remedy Give one value for each of the collection's partition key paths: a string, a number, a boolean, null, or
 * nothing.
 */
export class InvalidPartitionKeyError extends CodedError {
  override readonly name = 'InvalidPartitionKeyError'
  readonly code = 'ERR_INVALID_PARTITION_KEY'
  readonly retryable = false
}
