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
 * Whether an entity may delete itself now. A scheduled message holds the timer until it is enqueued (TMP-05), whether or not
 * somebody has carried that out already. The destination of an entity that forwards is never idle (TMP-08).
 */
export function isIdle(
  entity: EntityRecord,
  now: {
    readonly lockMs: number
    /** The last instant of its scheduled messages, by the lock clock. */
    readonly scheduledMs: number | undefined
    readonly isForwardedTo: boolean
  },
): boolean {
  const { lockMs, scheduledMs, isForwardedTo } = now
  const accessedMs = Math.max(entity.accessedMs, scheduledMs ?? 0)
  const atMs = idleAtMs({ ...entity, accessedMs })
  return atMs !== undefined && atMs <= lockMs && !isForwardedTo
}
