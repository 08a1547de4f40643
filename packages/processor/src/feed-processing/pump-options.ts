import type { FeedMode, FeedRange, Lsn, PartitionKey } from '@tidemark/contracts'
import type { FailurePolicy } from './bisection.ts'

/** When the position of a range is stored, besides on close and hand-over. */
export type CheckpointPolicy =
  'everyBatch' | 'manual' | { readonly everyChanges: number } | { readonly everyMs: number }

export interface PumpOptions {
  readonly hostName: string
  readonly group: string
  readonly maxItemCount: number | undefined
  readonly pendingDeletes: boolean | undefined
  readonly mode: FeedMode
  readonly onHorizonPassed: 'fail' | 'resync'
  readonly feedPollDelayMs: number
  readonly readAheadPages: number
  readonly checkpointFrequency: CheckpointPolicy
  readonly retryDelayMs: number
  readonly retryMaxDelayMs: number
  readonly abortGraceMs: number
  readonly failurePolicy: FailurePolicy
  /** Infinity = no limit. */
  readonly maxBatchMs: number
  readonly maxConcurrentKeys: number
  readonly laneWindowChanges: number
  readonly redrivePollMs: number
}

/** Starts tasks in the order in which they come, so many at a time. */
export interface ObserverQueue {
  add(task: () => Promise<void>): Promise<unknown>
}

/** What a pump tells about its work. */
export type PumpNotice =
  | { readonly kind: 'batchRead'; readonly changes: number; readonly lsn: Lsn }
  | {
      readonly kind: 'batchDone'
      readonly changes: number
      readonly lsn: Lsn
      readonly attempt: number
      readonly durationMs: number
    }
  | { readonly kind: 'checkpointed'; readonly lsn: Lsn }
  | {
      readonly kind: 'observerError'
      readonly phase: 'open' | 'processChanges' | 'resynchronize' | 'close'
      readonly error: unknown
      readonly attempt: number
      readonly retryInMs: number | undefined
    }
  | {
      readonly kind: 'feedError'
      readonly error: unknown
      readonly attempt: number
      readonly retryInMs: number
    }
  | { readonly kind: 'rangeGone'; readonly range: FeedRange; readonly error: unknown }
  | {
      readonly kind: 'horizonPassed'
      readonly range: FeedRange
      /** Where the group stands. */
      readonly lsn: Lsn
      readonly horizon: Lsn
      readonly action: 'halt' | 'resync'
      readonly error: unknown
    }
  | {
      readonly kind: 'resynchronized'
      readonly range: FeedRange
      readonly lsn: Lsn
      readonly horizon: Lsn
      readonly untilLsn: Lsn
    }
  /** A part of a batch that failed is tried by itself from now on. */
  | {
      readonly kind: 'batchBisected'
      /** Of the part that failed. */
      readonly changes: number
      readonly lsn: Lsn
      readonly error: unknown
    }
  | {
      readonly kind: 'deadLettered'
      readonly letterId: string
      readonly id: string
      readonly partitionKey: PartitionKey
      readonly lsn: Lsn
      readonly attempts: number
      readonly error: unknown
    }
  /** The sink did not take a letter. Tried again after `retryInMs`, for ever. */
  | {
      readonly kind: 'deadLetterFailed'
      readonly error: unknown
      readonly attempt: number
      readonly retryInMs: number
    }
  /** So many letters without a success between them: the next change is tried for ever. */
  | { readonly kind: 'deadLettersSuspended'; readonly consecutive: number; readonly lsn: Lsn }
  | { readonly kind: 'redriven'; readonly letterId: string; readonly lsn: Lsn }
  | {
      readonly kind: 'rangeHalted'
      readonly range: FeedRange
      readonly lsn: Lsn
      readonly attempts: number
      readonly error: unknown
    }
  | { readonly kind: 'observerStuck'; readonly inFlightMs: number; readonly error: unknown }
  | { readonly kind: 'leaseFenced'; readonly currentEpoch: number; readonly error: unknown }
