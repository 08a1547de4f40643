import { CodedError } from '@tidemark/contracts'
import type { SinkEntry } from './sink-entry.ts'

/**
 * A sink will never take this change: its document does not fit a column, or the receiver refuses it.
 *
 * @remedy Correct the document, the columns or the receiver. `failurePolicy` decides whether the range waits for that (the default) or the change becomes a dead letter, which can be sent back.
 */
export class SinkRefusedError extends CodedError {
  override readonly name = 'SinkRefusedError'
  readonly code = 'ERR_SINK_REFUSED'
  readonly retryable = false

  /** @param why what the sink says, without what is in the document */
  constructor(
    { id, partitionKeyText, lsn }: Pick<SinkEntry, 'id' | 'partitionKeyText' | 'lsn'>,
    why: string,
    options?: ErrorOptions,
  ) {
    super(
      `document ${JSON.stringify(id)} of ${partitionKeyText} at LSN ${lsn} was refused: ${why}`,
      options,
    )
  }
}
