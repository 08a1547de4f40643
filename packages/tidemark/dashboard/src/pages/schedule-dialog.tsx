import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Actions, QueueHead } from '../../../src/dashboard/views.ts'
import { msOfLocal } from '../platform/browser.ts'
import { ActionDialog } from '../ui/action-dialog.tsx'

export interface ScheduleDialogProps {
  readonly head: QueueHead
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Sends a message now or at a time. */
export function ScheduleDialog({ head, onClose, onDone }: ScheduleDialogProps): VNode {
  const { database, entity } = head
  const [text, setText] = useState('')
  const [time, setTime] = useState('')
  const [session, setSession] = useState('')
  const needsSession = head.requiresSession === true
  const body: Actions['schedule'] | undefined =
    text === '' || (needsSession && session === '')
      ? undefined
      : {
          database,
          entity,
          body: text,
          atMs: msOfLocal(time) ?? null,
          ...(session === '' ? {} : { session }),
        }
  return (
    <ActionDialog
      action="schedule"
      title={`Send a message to ${entity}`}
      verb={time === '' ? 'Send' : 'Schedule'}
      body={body}
      onClose={onClose}
      onDone={onDone}
    >
      <label class="field">
        Body: JSON, or a text
        <textarea
          rows={5}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="form">
        <label>
          At, in your time zone (empty: now)
          <input
            type="datetime-local"
            step="1"
            value={time}
            onInput={({ currentTarget }) => setTime(currentTarget.value)}
          />
        </label>
        <label>
          Session{needsSession ? '' : ' (none if empty)'}
          <input
            type="text"
            value={session}
            onInput={({ currentTarget }) => setSession(currentTarget.value)}
          />
        </label>
      </div>
    </ActionDialog>
  )
}
