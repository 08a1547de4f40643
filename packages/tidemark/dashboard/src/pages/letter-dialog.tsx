import type { VNode } from 'preact'
import type { LetterQuery } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { useRead } from '../live/use-read.ts'
import { tokenName } from '../range-name.ts'
import { CutText } from '../ui/cut-text.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Waiting } from '../ui/parts.tsx'
import { Moment } from '../ui/time.tsx'

export interface LetterDialogProps {
  readonly query: LetterQuery
  readonly onClose: () => void
}

/** A dead letter: why it is one, and the change. */
export function LetterDialog({ query, onClose }: LetterDialogProps): VNode {
  const { answer, problem } = useRead('letter', query)
  return (
    <Dialog
      isWide
      title={answer === undefined ? 'Dead letter' : `Dead letter of ${answer.documentId}`}
      onClose={onClose}
      foot={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      {answer === undefined ? (
        <Waiting problem={problem} />
      ) : (
        <>
          <dl class="facts">
            <dt>Error</dt>
            <dd>
              <b>{answer.error}</b>
            </dd>
            <dt>Group, host</dt>
            <dd>
              {answer.group}, {answer.host}
            </dd>
            <dt>Failed</dt>
            <dd>
              <Moment ms={answer.failedMs} />, after {count(answer.attempts)} attempts
            </dd>
            <dt>Partition key</dt>
            <dd class="mono">{answer.key}</dd>
            <dt>Range, LSN</dt>
            <dd>
              <span class="mono" title={answer.range}>
                {tokenName(answer.range)}
              </span>
              , {count(answer.lsn)}
            </dd>
          </dl>
          <h3>The change</h3>
          <CutText label="Text of the change" text={answer.text} isCut={answer.isCut} />
          {answer.stack !== null && (
            <>
              <h3>Stack</h3>
              <CutText label="Stack of the error" text={answer.stack} isCut={false} />
            </>
          )}
        </>
      )}
    </Dialog>
  )
}
