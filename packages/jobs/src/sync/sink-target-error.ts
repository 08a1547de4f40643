import { CodedError } from '@tidemark/contracts'

/**
 * The target of a sink cannot be used: it is missing, lacks a column or key, or is filled from another collection.
 *
 * @remedy Make or change the target as the message says, or choose another one.
 */
export class SinkTargetError extends CodedError {
  override readonly name = 'SinkTargetError'
  readonly code = 'ERR_SINK_TARGET'
  readonly retryable = false
}
