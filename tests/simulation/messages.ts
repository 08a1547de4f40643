import type { FaultKind, LeaseStoreKind, Schedule, Violation } from '@tidemark/testing/simulation'

/** What a child of a campaign is started with. */
export interface CampaignTask {
  /** Instead of what the seed says. */
  readonly store?: LeaseStoreKind | undefined
  /** Whether the platform's AbortController is used, in the place of a light one. */
  readonly platformAbort: boolean
}

/** Parent to child: seeds to run, `until` excluded. */
export interface SeedRange {
  readonly from: number
  readonly until: number
}

/** A schedule of which an oracle says that it must not be. */
export interface FoundViolation {
  readonly seed: number
  /** Cut down to what is needed. */
  readonly schedule: Schedule
  readonly violation: Violation
  /** The last of what happened, as text. */
  readonly trace: string
}

export type FaultCounts = Readonly<Partial<Record<FaultKind, number>>>

/** Child to parent. */
export interface SeedsDone {
  readonly schedules: number
  readonly faults: FaultCounts
  readonly simulatedMs: number
  readonly changes: number
  readonly violations: readonly FoundViolation[]
}
