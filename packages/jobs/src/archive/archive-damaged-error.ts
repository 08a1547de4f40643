import { CodedError } from '@tidemark/contracts'

/**
 * A file of an archive holds something that is not an archived document. The message names file and line.
 *
 * @remedy Remove or correct that line, or restore the file, and run the import again.
 */
export class ArchiveDamagedError extends CodedError {
  override readonly name = 'ArchiveDamagedError'
  readonly code = 'ERR_ARCHIVE_DAMAGED'
  readonly retryable = false
}
