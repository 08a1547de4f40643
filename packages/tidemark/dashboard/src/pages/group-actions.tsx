import type { VNode } from 'preact'
import type { GroupView } from '../../../src/dashboard/views.ts'
import { plural } from '../format.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { SeekDialog } from './seek-dialog.tsx'

export interface GroupActionsProps {
  readonly view: GroupView
  /** Lease tokens. */
  readonly chosen: ReadonlySet<string>
}

/** Pause, resume, seek, release; each shows first what it will do. */
export function GroupActions({ view: { head, tables }, chosen }: GroupActionsProps): VNode {
  const { leases, group, paused } = head
  const ranges = tables.leases.map(({ id }) => id).filter((id) => chosen.has(id))
  const none = 'Choose ranges in the ownership map first.'
  return (
    <>
      <ActionButton
        text={paused ? 'Resume …' : 'Pause …'}
        dialog={(onClose) => (
          <ActionDialog
            action={paused ? 'resume' : 'pause'}
            title={`${paused ? 'Resume' : 'Pause'} group ${group}`}
            verb={paused ? 'Resume' : 'Pause'}
            body={{ leases, group }}
            onClose={onClose}
          />
        )}
      />
      <ActionButton
        text="Seek …"
        dialog={(onClose) => (
          <SeekDialog leases={leases} group={group} ranges={ranges} onClose={onClose} />
        )}
      />
      <ActionButton
        text={ranges.length === 0 ? 'Release …' : `Release ${plural(ranges.length, 'range')} …`}
        refusal={ranges.length === 0 ? none : undefined}
        dialog={(onClose) => (
          <ActionDialog
            action="release"
            title={`Release ${plural(ranges.length, 'range')} of ${group}`}
            verb="Release"
            body={{ leases, group, ranges }}
            onClose={onClose}
          />
        )}
      />
    </>
  )
}
