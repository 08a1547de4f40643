import { CodedError } from '@tidemark/contracts'

/**
 * A migration's target cannot be used or created, and nothing was copied. The message says why.
 *
 * @remedy Choose another target, or change its settings as the message says.
 */
export class MigrationTargetError extends CodedError {
  override readonly name = 'MigrationTargetError'
  readonly code = 'ERR_MIGRATION_TARGET'
  readonly retryable = false
}
