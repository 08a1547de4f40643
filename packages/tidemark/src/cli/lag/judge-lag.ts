import type { FeedEstimate } from '@tidemark/processor'

/** The thresholds of a warning and of a critical status. Undefined = never for that reason. */
export interface LagThresholds {
  readonly warn?: number | undefined
  readonly critical?: number | undefined
  readonly warnAgeS?: number | undefined
  readonly criticalAgeS?: number | undefined
}

/** As monitoring systems expect them. */
export type LagStatus = 'ok' | 'warning' | 'critical' | 'unknown'

/**
 * Critical takes precedence over all, and unknown over ok: a lag that cannot be measured is not ok. A range that has
 * stopped until an operator acts is critical without any threshold. Without thresholds, what is left with no host there is a warning.
 */
export function judgeLag(estimate: FeedEstimate, thresholds: LagThresholds): LagStatus {
  const { leases, hosts, paused, caughtUp, remainingChanges, isExact, oldestChangeAgeMs } = estimate
  const { warn, critical, warnAgeS, criticalAgeS } = thresholds
  if (leases.length === 0) return 'unknown'
  const ageS = oldestChangeAgeMs === undefined ? undefined : oldestChangeAgeMs / 1000
  const reaches = (value: number | undefined, limit: number | undefined): boolean =>
    value !== undefined && limit !== undefined && value >= limit
  if (leases.some(({ problem }) => problem !== undefined)) return 'critical'
  if (reaches(remainingChanges, critical) || reaches(ageS, criticalAgeS)) return 'critical'
  if (reaches(remainingChanges, warn) || reaches(ageS, warnAgeS)) return 'warning'
  const isCountLimited = warn !== undefined || critical !== undefined
  const isAgeLimited = warnAgeS !== undefined || criticalAgeS !== undefined
  const isAbandoned = !caughtUp && hosts.length === 0 && !paused
  if (isAbandoned && !isCountLimited && !isAgeLimited) return 'warning'
  if ((isCountLimited && !isExact) || (isAgeLimited && ageS === undefined)) return 'unknown'
  return 'ok'
}

const DEFAULT_LIMIT = 1_000

/** How far to count each range: until it reaches a threshold, or its count is exact. */
export function countLimit({ warn = 0, critical = 0 }: LagThresholds): number {
  return Math.max(DEFAULT_LIMIT, warn, critical)
}
