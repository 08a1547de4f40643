import type { RuntimeProperties } from '@tidemark/messaging'
import { textTable } from './text-table.ts'

/** Counts of a queue, topic or subscription. A topic has scheduled messages only. */
export interface ShownCounts extends RuntimeProperties {
  readonly activeMessageCount?: number
  readonly lockedMessageCount?: number
  readonly deferredMessageCount?: number
  readonly deadLetterMessageCount?: number
  readonly expiredMessageCount?: number
  readonly oldestEnqueuedTimeUtc?: Date | undefined
}

export interface CountedEntity {
  /** What stands in the first columns. */
  readonly names: readonly string[]
  readonly status: string
  readonly counts: ShownCounts
}

const HEADINGS = [
  'STATUS',
  'ACTIVE',
  'LOCKED',
  'DEFERRED',
  'SCHEDULED',
  'DEAD',
  'EXPIRED',
  'BYTES',
  'OLDEST',
]

/** A row for each entity. `-` is a count that a topic does not have. */
export function queueTable(
  names: readonly string[],
  entities: readonly CountedEntity[],
  nowMs: number,
): string {
  const rows = entities.map(({ names: first, status, counts }) => [
    ...first,
    status,
    counts.activeMessageCount ?? '-',
    counts.lockedMessageCount ?? '-',
    counts.deferredMessageCount ?? '-',
    counts.scheduledMessageCount,
    counts.deadLetterMessageCount ?? '-',
    counts.expiredMessageCount ?? '-',
    counts.sizeInBytes,
    ageText(counts.oldestEnqueuedTimeUtc, nowMs),
  ])
  return textTable([...names, ...HEADINGS], rows)
}

/** A line for each property that is set. */
export function propertyLines(properties: object): string {
  const rows = Object.entries(properties).filter(([, value]) => value !== undefined)
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${valueText(value)}\n`).join('')
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

/** `3d 4h`, `12m 5s`; `-` for nothing. */
export function ageText(since: Date | undefined, nowMs: number): string {
  if (since === undefined) return '-'
  let rest = Math.max(0, nowMs - since.getTime())
  const parts: string[] = []
  for (const [unitMs, name] of UNITS) {
    const count = Math.floor(rest / unitMs)
    rest -= count * unitMs
    if (count > 0 || parts.length > 0 || name === 's') parts.push(`${count}${name}`)
  }
  return parts.slice(0, 2).join(' ')
}

function valueText(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'string' ? value || '""' : JSON.stringify(value)
}
