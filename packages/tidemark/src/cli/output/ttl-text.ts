import type { ShownTtl } from '../../inspection/read-ttl.ts'
import { grouped } from './progress-line.ts'
import { textTable } from './text-table.ts'

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [7 * 86_400, 'week'],
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

/** The text output of `tidemark ttl`. */
export function ttlText(shown: ShownTtl): string {
  const { defaultTtl, withExpiry, unswept, pendingDeletes, nextExpiryMs, nowMs } = shown
  const next =
    nextExpiryMs === undefined
      ? 'never'
      : `in ${period(Math.max(0, Math.ceil((nextExpiryMs - nowMs) / 1000)))}`
  const rows: (readonly [string, string])[] = [
    ['default ttl', defaultTtlText(defaultTtl)],
    ...shown.expiring.map(({ withinSeconds, documents }) => {
      return [`expire within ${period(withinSeconds)}`, grouped(documents)] as const
    }),
    ['expire ever', grouped(withExpiry)],
    ['next expiry', next],
    ['unswept', grouped(unswept)],
    ['pending deletes', grouped(pendingDeletes)],
    ['retention', period(shown.retentionSeconds)],
    ['waits for', shown.waitFor.map(({ group }) => group).join(', ') || '-'],
  ]
  if (shown.isReindexing) rows.push(['refiling', 'yes; the numbers may lag'])
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`)
  return [...lines, positionTable(shown)].join('')
}

/** Horizons and the positions of the groups; empty when there are none. */
function positionTable({ horizons, waitFor }: ShownTtl): string {
  const rows = [
    ...horizons.map(({ range, lsn }) => ['horizon', fromKey(range), lsn]),
    ...waitFor.flatMap(({ group, positions }) =>
      positions.length === 0
        ? [[group, '0', '-']]
        : positions.map(({ range, lsn }) => [group, fromKey(range), lsn]),
    ),
  ]
  return rows.length === 0 ? '' : `\n${textTable(['POSITION OF', 'FROM', 'LSN'], rows)}`
}

function fromKey(rangeId: string): string {
  return rangeId.slice(0, rangeId.indexOf('-')) || '0'
}

function defaultTtlText(defaultTtl: number | null): string {
  if (defaultTtl === null) return 'off'
  return defaultTtl === -1 ? '-1 (by their own ttl only)' : `${defaultTtl} (${period(defaultTtl)})`
}

/** `90 seconds`, `1 hour`: in the largest unit without a remainder. */
function period(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [
    1,
    'second',
  ]
  const count = seconds / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
