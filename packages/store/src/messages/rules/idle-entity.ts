import type { EntityRecord } from '../entities.ts'

/**
 * When an entity has been idle for its period, by the lock clock, if nothing happens until then (TMP-01). Undefined: never.
 * An entity that forwards counts as having a receiver (TMP-08).
 */
export function idleAtMs({ kind, accessedMs, settings }: EntityRecord): number | undefined {
  const { autoDeleteOnIdleMs, forwardTo } = settings
  if (kind === 'deadLetter' || autoDeleteOnIdleMs === undefined || forwardTo !== undefined) {
    return undefined
  }
  return accessedMs + autoDeleteOnIdleMs
}

/**
 * Whether an entity may delete itself now. A pending scheduled message holds the timer (TMP-05), and the destination of an
 * entity that forwards is never idle (TMP-08).
 */
export function isIdle(
  entity: EntityRecord,
  now: {
    readonly lockMs: number
    readonly hasScheduled: boolean
    readonly isForwardedTo: boolean
  },
): boolean {
  const atMs = idleAtMs(entity)
  return atMs !== undefined && atMs <= now.lockMs && !now.hasScheduled && !now.isForwardedTo
}
