import { CodedError } from '@tidemark/contracts'

/** A migration's target cannot be used or created; nothing was copied. The message says why not. */
export class MigrationTargetError extends CodedError {
  override readonly name = 'MigrationTargetError'
  readonly code = 'ERR_MIGRATION_TARGET'
  readonly retryable = false
}
