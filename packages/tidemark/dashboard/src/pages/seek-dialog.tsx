import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Actions, GroupRef } from '../../../src/dashboard/views.ts'
import { plural } from '../format.ts'
import { isoOf, msOfLocal } from '../platform/browser.ts'
import { ActionDialog } from '../ui/action-dialog.tsx'

export interface SeekDialogProps extends GroupRef {
  /** Those that were chosen in the map. */
  readonly ranges: readonly string[]
  readonly onClose: () => void
}

type Target = 'beginning' | 'now' | 'time' | 'continuation'

const TARGETS: readonly (readonly [Target, string])[] = [
  ['beginning', 'the beginning: every change is delivered again'],
  ['now', 'now: what is left is skipped'],
  ['time', 'a point in time'],
  ['continuation', 'a continuation'],
]

export function SeekDialog({ leases, group, ranges, onClose }: SeekDialogProps): VNode {
  const [target, setTarget] = useState<Target | undefined>()
  const [time, setTime] = useState('')
  const [continuation, setContinuation] = useState('')
  const to = position(target, time, continuation)
  const body: Actions['seek'] | undefined =
    to === undefined ? undefined : { leases, group, to, ...(ranges.length > 0 ? { ranges } : {}) }
  const what =
    ranges.length === 0 ? `group ${group}` : `${plural(ranges.length, 'range')} of ${group}`
  return (
    <ActionDialog
      action="seek"
      title={`Move ${what}`}
      verb="Move"
      isDangerous
      body={body}
      onClose={onClose}
    >
      <fieldset>
        <legend>Continue at</legend>
        {TARGETS.map(([name, text]) => (
          <label key={name} class="check">
            <input
              type="radio"
              name="target"
              checked={target === name}
              onChange={() => setTarget(name)}
            />
            {text}
          </label>
        ))}
      </fieldset>
      {target === 'time' && (
        <label class="field">
          Time, in your time zone
          <input
            type="datetime-local"
            step="1"
            value={time}
            onInput={({ currentTarget }) => setTime(currentTarget.value)}
          />
        </label>
      )}
      {target === 'continuation' && (
        <label class="field">
          Continuation
          <textarea
            rows={3}
            value={continuation}
            onInput={({ currentTarget }) => setContinuation(currentTarget.value)}
          />
        </label>
      )}
    </ActionDialog>
  )
}

/** As the action wants it; undefined while it is not complete. */
function position(
  target: Target | undefined,
  time: string,
  continuation: string,
): string | undefined {
  if (target === 'time') {
    const ms = msOfLocal(time)
    return ms === undefined ? undefined : isoOf(ms)
  }
  if (target === 'continuation') return continuation.trim() || undefined
  return target
}
