import { CodedError } from '@tidemark/contracts'

/** A file of an archive holds something that is no archived document. The message names file and line. */
export class ArchiveDamagedError extends CodedError {
  override readonly name = 'ArchiveDamagedError'
  readonly code = 'ERR_ARCHIVE_DAMAGED'
  readonly retryable = false
}
