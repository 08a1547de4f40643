import type {
  FaultKind,
  HostSettings,
  LeaseStoreKind,
  Schedule,
  Violation,
} from '@tidemark/testing/simulation'

/** What a child of a campaign is started with. */
export interface CampaignTask {
  /** Instead of what the seed says. */
  readonly store?: LeaseStoreKind | undefined
  /** Instead of what the seed says. */
  readonly balanceBy?: HostSettings['balanceBy']
  /** Whether the platform's AbortController is used, instead of a light one. */
  readonly platformAbort: boolean
  /** Whether the hashes of all histories are told. */
  readonly hashes?: boolean | undefined
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

/** Faults that hit something, by kind. */
export type FaultCounts = Readonly<Partial<Record<FaultKind, number>>>

export function sumFaults(a: FaultCounts, b: FaultCounts): FaultCounts {
  const sum: Partial<Record<string, number>> = { ...a }
  for (const [kind, times] of Object.entries(b)) sum[kind] = (sum[kind] ?? 0) + times
  return sum
}

/** Child to parent. */
export interface SeedsDone {
  readonly schedules: number
  readonly faults: FaultCounts
  readonly simulatedMs: number
  readonly changes: number
  readonly violations: readonly FoundViolation[]
  /** Of all histories, in the order of the seeds, where they were asked for. */
  readonly hashes: readonly string[] | undefined
}
