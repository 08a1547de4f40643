import type { FaultProcessTask } from '../fault-process.ts'
import type { ExpiringStoreOptions } from './expiring-store.ts'

/** What the processes of these tests are started with. */

export const POLLED_KEY = 'polled'

export interface PollerTask extends ExpiringStoreOptions, FaultProcessTask {
  /** Documents to look at, all of the key `POLLED_KEY`. */
  readonly ids: readonly string[]
  /** It goes on for longer until all are gone and swept; at most for `maxMs`. */
  readonly forMs: number
  readonly maxMs: number
}

/** What one process saw of a document; times are the machine's monotonic clock. */
export interface Sighting {
  readonly id: string
  readonly looks: number
  /** When the last look began that showed it. */
  readonly lastSeenMs: number
  /** When the first look ended that did not show it; undefined if all did. */
  readonly firstGoneMs: number | undefined
  /** The store's clock before the last look by id that showed it, and after the first that did not; epoch ms. */
  readonly lastSeenStoreMs: number
  readonly firstGoneStoreMs: number
  /** When the first look ended that showed its pending delete. */
  readonly firstSweptMs: number | undefined
}

export interface SweeperTask extends ExpiringStoreOptions, FaultProcessTask {
  /** It kills itself in the midst of its work, once it has swept this many. */
  readonly diesAfterDocuments?: number | undefined
}

export type CatchUpTask = ExpiringStoreOptions & FaultProcessTask
