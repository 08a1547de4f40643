import type { Fault } from './fault.ts'

/** Which of the two models of a lease store hosts work with. */
export type LeaseStoreKind = 'model' | 'documents'

/** How hosts work: the same for all of a run. */
export interface HostSettings {
  /** When positions are stored, as the option of hosts. @unit changes or ms @range 1 or more */
  readonly checkpointFrequency:
    | 'everyBatch'
    | { readonly everyChanges: number }
    | { readonly everyMs: number }
  /** Partition key values of one range that are processed at the same time. @range 1 or more */
  readonly maxConcurrentKeys: number
  /** `deadLetter`: after two tries. */
  readonly failurePolicy: 'retryForever' | 'deadLetter'
  /** Whether calls that take longer than 5 s are taken for ones that never return. */
  readonly watchdog: boolean
  /** How observers take changes; `one`: with `processChange`, so that nothing accepted comes again but after a death. @default batch */
  readonly observer?: 'batch' | 'one' | undefined
  /** `load`: observers take their time by what they are called with, more for some keys. @default count */
  readonly balanceBy?: 'count' | 'load' | undefined
}

/** All that decides what happens in one run. The same schedule is the same run, to the last event. */
export interface Schedule {
  readonly seed: number
  readonly store: LeaseStoreKind
  /** At the start. */
  readonly hosts: number
  readonly settings: HostSettings
  /** Of the feed, at the start. */
  readonly ranges: number
  /** Commits in the monitored collection. */
  readonly commits: number
  /** For so long commits and faults come; then everything works. */
  readonly faultsForMs: number
  /** When all is at rest then, for so long each key has a change every 2 s and nothing else happens. @default 0 */
  readonly steadyForMs?: number | undefined
  /** In the order of their times. */
  readonly faults: readonly Fault[]
}

/** Whether its hosts share out what leases cost. */
export function balancesByLoad({ settings }: Pick<Schedule, 'settings'>): boolean {
  return settings.balanceBy === 'load'
}
