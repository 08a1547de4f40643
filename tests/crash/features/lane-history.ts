import type { PlannedOperation } from './feature-lane.ts'
import type { JournalEntry } from './journal.ts'

/** What became of one thing that a lane did. */
export interface LaneStep {
  readonly lane: string
  readonly beganMs: number
  readonly operations: readonly PlannedOperation[]
  readonly outcome:
    | { readonly kind: 'done'; readonly lsn: number; readonly timeMs: number }
    | { readonly kind: 'refused'; readonly atMs: number; readonly code: string }
    /** On its way when the process was killed, or its server went away: there as a whole or not at all. */
    | { readonly kind: 'inDoubt' }
}

/** What each lane did, in its order. */
export function laneHistories(journal: readonly JournalEntry[]): ReadonlyMap<string, LaneStep[]> {
  const histories = new Map<string, LaneStep[]>()
  for (const entry of journal) {
    if (entry.kind === 'begin') {
      const { lane, atMs: beganMs, operations } = entry
      const steps = histories.get(lane) ?? []
      steps.push({ lane, beganMs, operations, outcome: { kind: 'inDoubt' } })
      histories.set(lane, steps)
    } else if (entry.kind === 'done' || entry.kind === 'refused') {
      const steps = histories.get(entry.lane)
      const begun = steps?.pop()
      if (begun === undefined) throw new Error(`${entry.lane}: an answer to nothing`)
      steps?.push({ ...begun, outcome: entry })
    }
  }
  return histories
}
