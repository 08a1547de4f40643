import type { ActionName } from '../views.ts'
import type { Act } from './act.ts'
import { pause, release, resume, seek } from './group-actions.ts'
import { dropLetters, redriveLetters } from './letter-actions.ts'
import { cancelScheduled, redriveMessages, schedule } from './queue-actions.ts'

/** Everything that the page can change. */
export const ACTIONS: Readonly<Record<ActionName, Act>> = {
  pause,
  resume,
  seek,
  release,
  redriveLetters,
  dropLetters,
  redriveMessages,
  schedule,
  cancelScheduled,
}
