import type { FeedEstimate, LeaseEstimate } from '@tidemark/processor'
import { grouped } from '../output/progress-line.ts'
import { textTable } from '../output/text-table.ts'
import type { LagStatus, LagThresholds } from './judge-lag.ts'

/** One line for people, and after a bar the values that monitoring systems plot. */
export function lagLine(
  estimate: FeedEstimate,
  status: LagStatus,
  thresholds: LagThresholds = {},
): string {
  const { leases, hosts, group, paused, oldestChangeAgeMs } = estimate
  const name = status.toUpperCase()
  if (leases.length === 0) return `${name}: group ${group} has no leases`
  const behind = leases.filter((lease) => lease.remainingChanges > 0 || !lease.isExact).length
  const left =
    behind === 0
      ? 'nothing left to do'
      : `${changesText(estimate)} changes left in ${behind} of ${leases.length} ranges, ` +
        `the oldest ${ageText(oldestChangeAgeMs)} s old`
  const states = [
    `${hosts.length} ${hosts.length === 1 ? 'host' : 'hosts'}`,
    ...(paused ? ['paused'] : []),
    ...stateTexts(leases),
  ]
  return `${name}: ${left}; ${states.join(', ')}${performance(estimate, thresholds)}`
}

/** One line for each lease. */
export function lagTable({ leases }: FeedEstimate): string {
  const headings = ['FROM', 'OWNER', 'STATE', 'LSN', 'NEWEST', 'LEFT', 'AGE s', 'TRIES', 'PROBLEM']
  return textTable(
    headings,
    leases.map((lease) => [
      lease.range.minInclusive || '0',
      lease.owner ?? '-',
      lease.state,
      lease.checkpointLsn,
      lease.newestLsn,
      changesText(lease),
      ageText(lease.oldestChangeAgeMs),
      lease.attempts?.count ?? 0,
      lease.problem ?? '-',
    ]),
  )
}

function changesText({
  remainingChanges,
  isExact,
}: Pick<LeaseEstimate, 'remainingChanges' | 'isExact'>): string {
  return `${grouped(remainingChanges)}${isExact ? '' : '+'}`
}

function ageText(ageMs: number | undefined): string {
  return ageMs === undefined ? '?' : grouped(Math.floor(ageMs / 1000))
}

/** The states that need attention. */
function stateTexts(leases: readonly LeaseEstimate[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { state, problem } of leases) {
    for (const text of [state, problem]) {
      if (text === undefined || text === 'owned' || text === 'paused') continue
      counts.set(text, (counts.get(text) ?? 0) + 1)
    }
  }
  return [...counts].map(([text, count]) => `${count} ${text}`)
}

/** `value;warn;critical`, if thresholds were given. */
function performance(
  { remainingChanges, oldestChangeAgeMs }: FeedEstimate,
  { warn, critical, warnAgeS, criticalAgeS }: LagThresholds,
): string {
  const values: string[] = []
  if (warn !== undefined || critical !== undefined) {
    values.push(`changes=${remainingChanges};${warn ?? ''};${critical ?? ''}`)
  }
  if (oldestChangeAgeMs !== undefined && (warnAgeS !== undefined || criticalAgeS !== undefined)) {
    values.push(
      `age=${Math.floor(oldestChangeAgeMs / 1000)}s;${warnAgeS ?? ''};${criticalAgeS ?? ''}`,
    )
  }
  return values.length === 0 ? '' : ` | ${values.join(' ')}`
}
