import type { VNode } from 'preact'
import type { MessageRow } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { CutText } from '../ui/cut-text.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Moment } from '../ui/time.tsx'

export interface MessageDialogProps {
  readonly message: MessageRow
  readonly onClose: () => void
}

export function MessageDialog({ message, onClose }: MessageDialogProps): VNode {
  return (
    <Dialog
      isWide
      title={`Message ${count(message.number)}`}
      onClose={onClose}
      foot={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <dl class="facts">
        <dt>Message id</dt>
        <dd class="mono">{message.messageId}</dd>
        <dt>State</dt>
        <dd>
          {message.state}, delivered {count(message.deliveries)} times
        </dd>
        {message.session !== null && (
          <>
            <dt>Session</dt>
            <dd>{message.session}</dd>
          </>
        )}
        {message.deadReason !== null && (
          <>
            <dt>Dead because</dt>
            <dd>
              {message.deadReason} {message.deadDescription}
            </dd>
          </>
        )}
        <dt>Enqueued</dt>
        <dd>
          <Moment ms={message.enqueuedMs} />
        </dd>
        {message.scheduledMs !== null && (
          <>
            <dt>Scheduled for</dt>
            <dd>
              <Moment ms={message.scheduledMs} />
            </dd>
          </>
        )}
        <dt>Expires</dt>
        <dd>{message.expiresMs === null ? 'never' : <Moment ms={message.expiresMs} />}</dd>
        {message.properties !== null && (
          <>
            <dt>Properties</dt>
            <dd class="mono">{message.properties}</dd>
          </>
        )}
      </dl>
      <CutText label="Body of the message" text={message.body} isCut={message.isCut} />
    </Dialog>
  )
}
